"""The two fast backends for real: what is contained, what is told of it, and that nothing is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from sandboxes import Limits, ProcessEnded, Sandbox, SandboxError, SandboxFileError, open_sandbox
from sandboxes.cgroups import find_hierarchy

pytestmark = pytest.mark.real
BACKENDS = ("namespace", "zygote")
MIB = 2**20
LIMITS = Limits(
    wall_s=10,
    cpu_s=5,
    memory_bytes=64 * MIB,
    num_processes=24,
    disk_bytes=4 * MIB,
    num_files=64,
    output_bytes=9999,
)


@pytest.fixture(params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> Generator[Sandbox]:
    with open_sandbox(request.param, limits=LIMITS) as opened:
        yield opened


def python(sandbox: Sandbox, code: str) -> str:
    """What a program that must succeed prints."""
    result = sandbox.run_python(code)
    assert result.ok, result
    return result.stdout.decode().strip()


def groups_left(driver_pid: int) -> list[str]:
    pattern = f"molt-sandbox-*-{driver_pid}-*"
    return [path.name for parent in find_hierarchy().parents for path in parent.glob(pattern)]


def test_all_capabilities_are_held(sandbox: Sandbox) -> None:
    assert sandbox.capabilities.missing == ()


def test_a_program_runs_as_a_real_unprivileged_user_without_privileges(sandbox: Sandbox) -> None:
    status = python(sandbox, "print(open('/proc/self/status').read())")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert all(61184 <= int(uid) < 61440 for uid in fields["Uid"].split())
    assert fields["Groups"].split() in ([], [fields["Gid"].split()[0]])
    assert all(int(fields[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"))
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_a_failing_program_tells_its_exit_code_and_error_as_python_does(sandbox: Sandbox) -> None:
    result = sandbox.run_python("import sys\nprint('before')\nraise ValueError('reason')")
    assert (result.exit_code, result.stdout) == (1, b"before\n")
    assert result.stderr.startswith(b'Traceback (most recent call last):\n  File "<st')
    assert result.stderr.endswith(b"in <module>\nValueError: reason\n")
    assert sandbox.run_python("import sys; sys.exit(7)").exit_code == 7
    assert sandbox.run_python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)").exit_code == 143
    assert b"SyntaxError" in sandbox.run_python("x =").stderr


def test_exit_handlers_and_threads_of_a_program_finish(sandbox: Sandbox) -> None:
    code = "import atexit, threading, time\natexit.register(print, 'exit')\n"
    code += "threading.Thread(target=lambda: (time.sleep(.1), print('thread'))).start()"
    assert python(sandbox, code).split() == ["thread", "exit"]


def test_a_command_gets_its_input_and_environment_and_no_other(sandbox: Sandbox) -> None:
    result = sandbox.run(["sh", "-c", "cat; env"], stdin=b"given\n", env={"NAME": "value"})
    lines = result.stdout.decode().splitlines()
    assert lines[0] == "given"
    assert {line.partition("=")[0] for line in lines[1:]} <= {
        *("NAME", "PATH", "HOME", "TMPDIR", "LANG", "USER", "PWD", "OLDPWD")
    }
    assert "NAME=value" in lines


def test_a_missing_command_is_the_callers_fault(sandbox: Sandbox) -> None:
    assert sandbox.run(["no-such-command"]).exit_code == 127


@pytest.mark.parametrize("word", ["a\0b", "\ud800", "x" * 131072])
def test_words_that_no_system_takes_are_the_commands_fault_and_not_the_sandboxes(
    sandbox: Sandbox, word: str
) -> None:
    result = sandbox.run(["echo", word])
    assert (result.exit_code, result.stdout) == (126, b"")
    assert b"no system takes" in result.stderr
    with pytest.raises(ValueError, match="no system takes"):
        sandbox.start(["echo", word])
    with pytest.raises(ValueError, match="list"):
        sandbox.run("ls -l")
    assert sandbox.run_python("print('\ud800')").exit_code == 1
    with pytest.raises(SandboxFileError):
        sandbox.read_file("\ud800", 10)


def test_only_the_standard_descriptors_are_open(sandbox: Sandbox) -> None:
    with open(__file__):
        listing = "import os\nfor fd in map(int, os.listdir('/proc/self/fd')):\n"
        listing += "    try: os.fstat(fd), print(fd, end=' ')\n    except OSError: pass"
        assert python(sandbox, listing) == "0 1 2"
        assert sandbox.run(["sh", "-c", "ls /proc/$$/fd"]).stdout.split() == [b"0", b"1", b"2"]


def test_the_hosts_files_and_processes_are_not_there(sandbox: Sandbox) -> None:
    code = "import os\nplaces = '/etc/shadow', '/home', '/var', '/sys'\n"
    code += "print([place for place in places if os.path.exists(place)])\n"
    code += "print([int(n) for n in os.listdir('/proc') if n.isdecimal() and int(n) > 9])"
    assert python(sandbox, code).split("\n") == ["[]", "[]"]
    assert not Path(__file__).is_relative_to("/usr")
    assert sandbox.run(["cat", __file__]).exit_code == 1


@pytest.mark.parametrize(
    "place", ["/x", "/usr/x", "/etc/x", "/dev/x", "/proc/sys/kernel/hostname", sys.base_prefix]
)
def test_nothing_but_the_work_folder_can_be_written(sandbox: Sandbox, place: str) -> None:
    target = f"{place}/x" if place == sys.base_prefix else place
    result = sandbox.run_python(f"open({target!r}, 'w').write('x')")
    assert result.stderr.rstrip().split(b": ")[0].endswith((b"PermissionError", b"OSError"))


def test_the_network_and_the_hosts_loopback_are_out_of_reach(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind("\0molt-test")
        abstract.listen()
        code = f"""
import socket
for family, address in ((socket.AF_INET, {server.getsockname()!r}), (socket.AF_UNIX, chr(0) + 'molt-test'),
                        (socket.AF_INET, ('192.0.2.1', 80))):
    try:
        socket.socket(family).connect(address)
        print('connected', address)
    except OSError:
        pass
"""
        assert python(sandbox, code) == ""


def test_a_server_inside_is_reached_from_inside(sandbox: Sandbox) -> None:
    code = "import socket\ns = socket.create_server(('127.0.0.1', 0))\n"
    assert python(sandbox, code + "print(bool(socket.create_connection(s.getsockname())))") == "True"


@pytest.mark.parametrize(
    "call",
    [
        "mount(b'none', b'/tmp', b'tmpfs', 0, None)",
        "unshare(0x10000000)",
        "ptrace(0, 0, 0, 0)",
        "socket(40, 1, 0)",
        "socket(17, 3, 0)",
        "socket(2, 3, 1)",
        "syscall(425, 8, None)",
        "syscall(321, 0, None, 0)",
    ],
)
def test_deep_system_calls_are_denied(sandbox: Sandbox, call: str) -> None:
    code = f"import ctypes\nc = ctypes.CDLL(None, use_errno=True)\nprint(c.{call}, ctypes.get_errno())"
    assert python(sandbox, code) == "-1 1"


def test_an_endless_loop_ends_at_its_time_out_even_with_signals_ignored(sandbox: Sandbox) -> None:
    code = "import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
    code += "print('x', flush=True)\nwhile True: pass"
    result = sandbox.run_python(code, timeout_s=1.0)
    assert (result.exit_code, result.timed_out) == (None, True)
    assert result.stdout == b"x\n"
    assert 1.0 <= result.wall_s < 3.0


def test_a_call_that_is_killed_while_it_starts_leaves_no_process(sandbox: Sandbox) -> None:
    for step in range(60):
        result = sandbox.run(
            ["sh", "-c", "trap '' TERM HUP; while :; do sleep 1; done"], timeout_s=step / 1000
        )
        assert (result.timed_out, result.wall_s < 9) == (True, True)
    pattern = f"molt-sandbox-*-{os.getpid()}-*/cgroup.procs"
    left = [file.read_text().split() for top in find_hierarchy().parents for file in top.glob(pattern)]
    assert [len(pids) for pids in left] == [1] * len(find_hierarchy().parents)  # The starter of its calls.


def test_processor_time_is_limited_too() -> None:
    with open_sandbox("zygote", limits=Limits(cpu_s=1, wall_s=30)) as sandbox:
        result = sandbox.run_python("while True: pass")
    assert result.timed_out
    assert result.wall_s < 20


def test_a_fork_bomb_stops_at_the_number_of_processes(sandbox: Sandbox) -> None:
    code = "import os, time\nn = 0\ntry:\n    while n < 500:\n        n += 1\n"
    code += "        if not os.fork(): time.sleep(20)\nexcept BlockingIOError:\n    print(n < 24)"
    assert python(sandbox, code) == "True"


@pytest.mark.parametrize(
    "code",
    [
        "x = bytearray(10**9)",
        "import os\nfor n in range(4): os.fork()\nx = bytearray(30 * 2**20)",
        "import os\nfor n in range(300): os.write(os.memfd_create('x'), bytes(2**20))",
    ],
)
def test_a_memory_bomb_is_killed_and_told(sandbox: Sandbox, code: str) -> None:
    result = sandbox.run_python(code + "\nprint('survived')")
    assert result.out_of_memory
    assert b"survived" not in result.stdout or "fork" in code
    assert python(sandbox, "print('next')") == "next"


def test_disk_and_inodes_are_limited(sandbox: Sandbox) -> None:
    for fill in (
        "open('f', 'wb').write(bytes(9 * 2**20))",
        "[open(f'/tmp/{n}', 'w') for n in range(99)]",
    ):
        result = sandbox.run_python(f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{fill}")
        assert result.exit_code == 1
        assert b"No space left" in result.stderr or b"File too large" in result.stderr


def test_output_is_cut_and_an_endless_writer_ends(sandbox: Sandbox) -> None:
    result = sandbox.run(["sh", "-c", "yes"])
    assert (result.output_cut, len(result.stdout), result.timed_out) == (True, 9999, False)
    exact = sandbox.run_python("print('x' * 9998)")
    assert (exact.ok, len(exact.stdout)) == (True, 9999)


def test_a_daemon_does_not_outlive_its_call(sandbox: Sandbox) -> None:
    code = "import os, time\nif not os.fork():\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
    code += "    while True:\n        open('beat', 'w').write(str(time.time())); time.sleep(.01)\n"
    code += "time.sleep(.3)"
    start_s = time.monotonic()
    sandbox.run_python(code)
    assert time.monotonic() - start_s < 5
    last = sandbox.read_file("beat", 100)
    time.sleep(0.2)
    assert sandbox.read_file("beat", 100) == last


def test_killing_everything_inside_ends_the_call_alone(sandbox: Sandbox) -> None:
    sandbox.run_python("import os; os.kill(-1, 9)")
    assert python(sandbox, "print('next')") == "next"


def test_the_work_folder_stays_between_calls_and_is_shared_with_files_from_outside(sandbox: Sandbox) -> None:
    sandbox.write_file("in/data.txt", b"given", 0o600)
    code = "text = open('in/data.txt').read(); open('out.txt', 'w').write(text + '!')"
    python(sandbox, code)
    assert sandbox.read_file("out.txt", 10) == b"given!"
    assert sandbox.run(["cat", "out.txt"]).stdout == b"given!"
    with pytest.raises(SandboxFileError, match="No space left"):
        sandbox.write_file("big", bytes(5 * MIB))


def test_a_link_made_inside_does_not_lead_the_host_out(sandbox: Sandbox) -> None:
    python(sandbox, "import os; os.symlink('/etc/shadow', 'a'); os.symlink('/etc', 'b'); os.mkfifo('c')")
    for path in ("a", "b/passwd", "c"):
        with pytest.raises(SandboxFileError):
            sandbox.read_file(path, 1000)


def test_sandboxes_do_not_see_each_others_files(sandbox: Sandbox) -> None:
    sandbox.write_file("secret", b"x", 0o777)
    with open_sandbox("zygote") as other:
        assert python(other, "import os; print(os.listdir('/work'), os.listdir('/tmp'))") == "[] []"


def test_one_snippet_cannot_poison_the_next(sandbox: Sandbox) -> None:
    code = "import builtins, os, sys, json\nbuiltins.print = None\nsys.modules['json'] = None\n"
    code += "os.environ['X'] = 'y'\n"
    code += "for name in ('sitecustomize.py', 'usercustomize.py', 'json.py', 'x.pth'):\n"
    code += "    open(name, 'w').write('import nothing_like_this')\nos.umask(0)\nkept = 1"
    sandbox.run_python(code)
    check = "import json, os; print('kept' in globals(), json.dumps(os.environ.get('X')), os.umask(0o22))"
    assert python(sandbox, check) == "False null 18"


def test_a_snippet_finds_no_earlier_snippet_in_its_memory(sandbox: Sandbox) -> None:
    marker = "needle" + str(os.getpid())
    with open_sandbox("zygote") as other:
        for _ in range(3):
            other.run_python(f"secret = '{marker}'")
            other.run(["echo", marker])
    code = f"""
half, found = '{marker[:5]}', 0
for line in open('/proc/self/maps'):
    place, kind, *_ = line.split()
    if 'rw' in kind:
        low, high = (int(n, 16) for n in place.split('-'))
        with open('/proc/self/mem', 'rb') as memory:
            memory.seek(low)
            found += memory.read(high - low).count((half + '{marker[5:]}').encode())
print(found)
"""
    assert int(python(sandbox, code)) == 0


def test_a_started_process_keeps_its_state_and_is_talked_to(sandbox: Sandbox) -> None:
    process = sandbox.start(["python3", "-I", "-u", "-c", "n = 0\nwhile True: n += int(input()); print(n)"])
    for number, total in ((2, b"2\n"), (40, b"42\n")):
        process.send(f"{number}\n".encode())
        assert process.receive_line(10) == total
    assert sandbox.run(["true"]).exit_code == 0
    with pytest.raises(TimeoutError):
        process.receive_line(0.1)
    process.kill()
    process.kill()
    with pytest.raises(ProcessEnded):
        process.send(b"1\n")


def test_a_started_process_that_ends_or_writes_no_line_is_told(sandbox: Sandbox) -> None:
    ended = sandbox.start(["true"])
    with pytest.raises(ProcessEnded):
        ended.receive_line(10)
    endless = sandbox.start(["sh", "-c", "yes | tr -d '\\n'"])
    with pytest.raises(ProcessEnded, match="9999"):
        endless.receive_line(10)
    sandbox.close()


def test_a_started_process_that_used_up_the_limits_fails_the_next_call_without_blaming_the_sandbox() -> None:
    bomb = (
        "import os, time\ntry:\n    while True:\n        if not os.fork(): time.sleep(60)\nexcept OSError:\n"
    )
    with open_sandbox(limits=LIMITS) as sandbox:
        process = sandbox.start(
            ["python3", "-I", "-c", bomb + "    print('full', flush=True); time.sleep(60)"]
        )
        assert process.receive_line(10) == b"full\n"
        assert sandbox.run(["sh", "-c", "true & wait"]).exit_code not in (0, None)


def test_nothing_is_left_after_close(sandbox: Sandbox) -> None:
    sandbox.start(["sleep", "1000"])
    sandbox.run(["true"])
    sandbox.close()
    sandbox.close()
    assert groups_left(os.getpid()) == []
    assert "tmpfs /mnt" not in Path("/proc/self/mounts").read_text()
    children = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True
    )
    assert "keeper_program" not in children.stdout
    with pytest.raises(SandboxError, match="closed"):
        sandbox.run(["true"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_is_left_after_the_driver_is_killed(backend: str) -> None:
    driver = f"""
import threading, time
from sandboxes import Limits, open_sandbox
sandbox = open_sandbox({backend!r})
sandbox.start(["sh", "-c", "trap '' TERM HUP; exec sleep 98765"])
code = "import os\\nif os.fork(): print(1)\\nos.setsid()\\nwhile 1: pass"
threading.Thread(target=sandbox.run_python, args=(code,)).start()
time.sleep(.7)
print("ready", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", driver], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert groups_left(process.pid)
        process.send_signal(signal.SIGKILL)
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        commands = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True).stdout
        if (
            not groups_left(process.pid)
            and "sleep 98765" not in commands
            and f" {process.pid} " not in commands
        ):
            return
        time.sleep(0.05)
    raise AssertionError((groups_left(process.pid), commands))


def test_when_the_keeper_dies_calls_end_as_infrastructure_failures_and_a_new_sandbox_works() -> None:
    sandbox = open_sandbox("zygote")
    failures: list[str] = []

    def hang() -> None:
        try:
            sandbox.run_python("while True: pass")
        except SandboxError as error:
            failures.append(str(error))

    thread = threading.Thread(target=hang)
    thread.start()
    time.sleep(0.5)
    keepers = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "-f", "keeper_program"], capture_output=True, text=True
    )
    os.kill(int(keepers.stdout), signal.SIGKILL)
    thread.join(10)
    assert failures
    sandbox.close()
    with open_sandbox("zygote") as again:
        assert python(again, "print(1)") == "1"
    assert groups_left(os.getpid()) == []


def test_a_call_cannot_pass_the_memory_limit_on_to_its_starter() -> None:
    code = "with open('/proc/self/oom_score_adj', 'w') as file: file.write('-1000')"
    with open_sandbox("zygote") as sandbox:
        assert b"Permission denied" in sandbox.run_python(code).stderr
        assert python(sandbox, "print(open('/proc/self/oom_score_adj').read().strip())") == "1000"


def test_a_starter_that_dies_fails_its_sandbox_alone() -> None:
    with open_sandbox("zygote") as sandbox, open_sandbox("zygote") as other:
        pattern = f"molt-sandbox-*-{os.getpid()}-*/cgroup.procs"
        files = [file for file in find_hierarchy().parents[0].glob(pattern) if file.read_text().strip()]
        os.kill(int(min(files, key=lambda file: file.stat().st_ctime_ns).read_text()), signal.SIGKILL)
        with pytest.raises(SandboxError, match="open a new sandbox"):
            sandbox.run_python("print(1)")
        assert python(other, "print(2)") == "2"
    assert groups_left(os.getpid()) == []


def test_a_forked_copy_of_the_driver_has_its_own_keeper_and_spares_ours() -> None:
    with open_sandbox("zygote") as sandbox:
        child = os.fork()
        if child == 0:
            sandbox.close()
            with open_sandbox("zygote") as own:
                os._exit(0 if own.run_python("print(1)").ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert python(sandbox, "print(2)") == "2"
