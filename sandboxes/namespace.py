"""The default backend: bubblewrap in a control group. In, a call; out, its result, with nothing of it left.

A call gets fresh pid, mount, network, ipc and uts namespaces, a root of system libraries, the sandbox's own
work folder, a real unprivileged user, a system-call filter and resource limits. Without root it is weaker (no
total of memory and processes, the caller's own user id), says so, and is refused for untrusted code.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, Self

from sandboxes.base import (
    WORK_FOLDER,
    Backend,
    Capabilities,
    Env,
    ExecResult,
    SandboxError,
    SandboxUnavailable,
    Support,
    Words,
)
from sandboxes.calls import EXIT_NOT_STARTED, KeptProcess, Outcome, gather
from sandboxes.cgroups import ControlGroup, find_hierarchy, remove_stale_groups
from sandboxes.files import read_below, write_below
from sandboxes.keeper import Report, acquire_keeper, find_interpreter, memory_file, release_keeper
from sandboxes.limits import Limits
from sandboxes.seccomp import build_filter

FIRST_UID, NUM_UIDS = 61184, 256
"""User ids that own nothing on the host (of the range that systemd keeps for such), in turn."""
_uids = count(os.getpid())
_MOST_WORD_BYTES = 131072
"""The kernel's limit for one argument (MAX_ARG_STRLEN)."""
_BUBBLEWRAP_OPTIONS = (
    "--die-with-parent --new-session --seccomp 4 --chdir / --dev /dev --proc /proc "
    "--unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try"
)
_EXIT_CPU_TIME = 128 + 24
"""SIGXCPU."""


def probe() -> Support:
    """What the backend holds here; SandboxUnavailable without Linux, bubblewrap or setpriv."""
    if sys.platform != "linux":
        raise SandboxUnavailable(f"the namespace backend needs Linux, this is {sys.platform}; use docker")
    _find_program("bwrap", "apt-get install bubblewrap")
    is_root, mends = os.getuid() == 0, list[str]()
    has_groups = is_root
    if is_root:
        _find_program("setpriv", "apt-get install util-linux")
        try:
            find_hierarchy()
        except SandboxUnavailable as error:
            has_groups = False
            mends.append(f"Memory and processes of a sandbox need cgroups: {error}.")
    else:
        mends.append("Run as root: limits of all processes together and a user id of its own need it.")
    capabilities = Capabilities(
        isolated_files=True,
        isolated_network=True,
        isolated_processes=True,
        memory_total=has_groups,
        num_processes=has_groups,
        disk_quota=True,
        syscall_filter=True,
        unprivileged_uid=is_root,
    )
    return Support(capabilities, tuple(mends))


def _find_program(name: str, mend: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{os.defpath}")
    if found is None:
        raise SandboxUnavailable(f"the namespace backend needs {name}, which is not installed; `{mend}`")
    return found


class NamespaceSandbox:
    """A `Sandbox`; `zygote` overrides how Python runs."""

    def __init__(self, limits: Limits, capabilities: Capabilities) -> None:
        self.limits, self.capabilities = limits, capabilities
        self._uid = FIRST_UID + next(_uids) % NUM_UIDS if os.getuid() == 0 else os.getuid()
        self._driver = os.getpid()
        self._is_open = True
        self._processes: list[KeptProcess] = []
        with ExitStack() as stack:
            self._group = None
            if capabilities.memory_total:
                self._group = ControlGroup.create(find_hierarchy(), limits)
                stack.callback(self._group.remove)
            self._keeper = acquire_keeper(describe_root)
            stack.callback(release_keeper, self._keeper)
            groups = [str(folder) for folder in self._group.folders] if self._group else []
            self._starter = self._keeper.open(
                {"uid": self._uid, "size": limits.disk_bytes, "nr_inodes": limits.num_files, "groups": groups}
            )
            stack.callback(self._keeper.close, self._starter.number)
            stack.callback(self._starter.close)
            stack.callback(self._kill)
            if self._group is not None and self._keeper.num_users == 1:
                remove_stale_groups(find_hierarchy())
            self._resources = stack.pop_all()

    def run(
        self, argv: Words, *, stdin: bytes = b"", timeout_s: float | None = None, env: Env = None
    ) -> ExecResult:
        """See `Sandbox`."""
        if problem := _problem_with(argv, env):
            return ExecResult(EXIT_NOT_STARTED, b"", problem.encode(), False, False, False, 0.0)
        with memory_file(stdin) as stdin_file:
            return self._call(self._wrap(argv), env, [stdin_file], timeout_s)

    def run_python(self, code: str, *, timeout_s: float | None = None) -> ExecResult:
        """See `Sandbox`."""
        text = code.encode(errors="surrogatepass")
        return self.run([find_interpreter(), "-I", "-"], stdin=text, timeout_s=timeout_s)

    def start(self, argv: Words, *, env: Env = None) -> KeptProcess:
        """See `Sandbox`."""
        if problem := _problem_with(argv, env):
            raise ValueError(problem)
        stdin, stdin_host = os.pipe2(os.O_CLOEXEC)
        try:
            report, (stdout,) = self._spawn(self._wrap(argv), env, [stdin], 1)
        except SandboxError:
            os.close(stdin_host)
            raise
        finally:
            os.close(stdin)
        os.set_blocking(stdin_host, False)
        process = KeptProcess(self._starter, report, stdin_host, stdout, self.limits, self._processes.remove)
        self._processes.append(process)
        return process

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """See `Sandbox`."""
        self._check_open()
        return read_below(self._starter.folder, path, max_bytes)

    def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """See `Sandbox`."""
        self._check_open()
        write_below(self._starter.folder, path, data, mode, self._uid)

    def close(self) -> None:
        """See `Sandbox`; in a forked copy of the driver it does nothing."""
        if os.getpid() == self._driver:
            self._is_open = False
            self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _kill(self) -> None:
        for process in list(self._processes):
            process.kill()
        if self._group is not None:
            self._group.kill()

    def _check_open(self) -> None:
        if not self._is_open or os.getpid() != self._driver:
            raise SandboxError("this sandbox is closed, or belongs to another process; open a new one")

    def _spawn(
        self, argv: Words | None, env: Env, inputs: list[int], num_outputs: int
    ) -> tuple[Report, tuple[int, ...]]:
        """Start a call on its stdin (and a snippet's code); the host's ends of stdout and, of 2, stderr."""
        self._check_open()
        pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(num_outputs)]
        outputs = [*(output for _, output in pipes), os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)]
        descriptors = [inputs[0], *outputs[:2], *inputs[1:]]
        try:
            report = self._starter.spawn(self._details(argv, env), descriptors)
        except SandboxError:
            for host, _ in pipes:
                os.close(host)
            raise
        finally:
            for output in outputs:
                os.close(output)
        return report, tuple(host for host, _ in pipes)

    def _call(self, argv: Words | None, env: Env, inputs: list[int], timeout_s: float | None) -> ExecResult:
        """Run a call to its end."""
        start_s = time.monotonic()
        num_oom_kills = self._group.count_oom_kills() if self._group else 0
        report, streams = self._spawn(argv, env, inputs, 2)
        timeout_s = self.limits.wall_s if timeout_s is None else timeout_s
        outcome = gather(self._starter, report, streams, timeout_s, self.limits.output_bytes)
        out_of_memory = self._group is not None and self._group.count_oom_kills() > num_oom_kills
        stdout, stderr = (bytes(outcome.outputs[stream]) for stream in streams)
        exit_code = None if outcome.timed_out else outcome.exit_code
        if not outcome.started and not outcome.timed_out:
            exit_code = self._judge_no_start(outcome, stderr, out_of_memory)
        timed_out = outcome.timed_out or exit_code == _EXIT_CPU_TIME
        wall_s = time.monotonic() - start_s
        return ExecResult(exit_code, stdout, stderr, timed_out, out_of_memory, outcome.output_cut, wall_s)

    def _judge_no_start(self, outcome: Outcome, stderr: bytes, out_of_memory: bool) -> int:
        """A command that was not reached is our failure, unless the code inside used up its limits."""
        if out_of_memory or self._processes:
            return EXIT_NOT_STARTED
        tail = stderr[-500:].decode(errors="replace").strip()
        raise SandboxError(f"a call did not start (exit code {outcome.exit_code}): {outcome.error or tail}")

    def _details(self, argv: Words | None, env: Env) -> dict[str, Any]:
        """What the keeper's child needs to know."""
        path = f"{Path(find_interpreter()).parent}:/usr/local/bin:/usr/bin:/bin"
        base_env = {"PATH": path, "HOME": WORK_FOLDER, "TMPDIR": "/tmp", "LANG": "C.UTF-8", "USER": "sandbox"}
        cpu_s, disk_bytes = self.limits.cpu_s, self.limits.disk_bytes
        rlimits = [(resource.RLIMIT_CPU, cpu_s, cpu_s + 1), (resource.RLIMIT_FSIZE, disk_bytes, disk_bytes)]
        rlimits += [(resource.RLIMIT_NOFILE, 1024, 1024), (resource.RLIMIT_CORE, 0, 0)]
        rlimits += [(resource.RLIMIT_MSGQUEUE, 0, 0)]
        if self._group is None:
            rlimits.append((resource.RLIMIT_AS, self.limits.memory_bytes, self.limits.memory_bytes))
        return {
            "argv": argv,
            "env": {**base_env, **(env or {})},
            "uid": self._uid,
            "rlimits": rlimits,
        }

    def _wrap(self, argv: Words) -> list[str]:
        """The command line of bubblewrap; descriptor 3 is the call's report, 4 the filter."""
        folder = f"{self._keeper.base}/{self._starter.number}"
        options = ["--ro-bind", f"{self._keeper.base}/root", "/", *_BUBBLEWRAP_OPTIONS.split()]
        for source, target in (("work", WORK_FOLDER), ("tmp", "/tmp"), ("shm", "/dev/shm")):
            options += ["--bind", f"{folder}/{source}", target]
        change_user: list[str] = []
        if os.getuid() == 0:
            # A user namespace would map root back to the host's root: become a real unprivileged user.
            options += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
            change_user = [_find_program("setpriv", ""), f"--reuid={self._uid}", f"--regid={self._uid}"]
            change_user += ["--clear-groups", "--inh-caps=-all", "--no-new-privs", "--pdeathsig", "KILL"]
        else:
            options += ["--unshare-user"]
        script = """cd /work && echo '{"started": true}' >&3 && exec "$@" 3>&- 4>&-"""
        tell_start = ["/bin/sh", "-c", script, "sh"]
        return [_find_program("bwrap", ""), *options, "--", *change_user, *tell_start, *argv]


def describe_root() -> dict[str, Any]:
    """What the keeper builds the shared root from: system libraries and the interpreter."""
    prefix = sys.base_prefix
    binds = ["/usr", *([] if Path(prefix).is_relative_to("/usr") else [prefix])]
    links = {"/dev/fd": "/proc/self/fd", "/dev/stdin": "fd/0", "/dev/stdout": "fd/1", "/dev/stderr": "fd/2"}
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives"):
        if os.path.islink(name):
            links[name] = os.readlink(name)
        elif os.path.isdir(name):
            binds.append(name)
    users = [("root", 0), *((f"sandbox{n}", FIRST_UID + n) for n in range(NUM_UIDS)), ("nogroup", 65534)]
    passwd = "".join(f"{name}:x:{uid}:{uid}::{WORK_FOLDER}:/bin/sh\n" for name, uid in users)
    group = "".join(f"{name}:x:{uid}:\n" for name, uid in users)
    files = {"/etc/passwd": passwd.encode(), "/etc/group": group.encode()}
    files["/etc/hosts"] = b"127.0.0.1 localhost\n"
    if os.path.exists("/etc/ld.so.cache"):
        files["/etc/ld.so.cache"] = Path("/etc/ld.so.cache").read_bytes()
    places = [path for path in ("/mnt", "/media", "/srv", "/opt", "/run") if os.path.isdir(path)]
    return {
        # A folder that no system library and no interpreter lies in: it is covered by the keeper's mounts.
        "base": next(path for path in places if not Path(prefix).is_relative_to(path)),
        "folders": ["/etc", "/proc", "/dev/shm", "/tmp", WORK_FOLDER],
        "devices": [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")],
        "binds": binds,
        "links": links,
        "files": {path: data.hex() for path, data in files.items()},
        "filter": build_filter().hex(),
        "machine": platform.machine(),
    }


def _problem_with(argv: Words, env: Env) -> str:
    """Why no system takes these words, which a policy may have written; empty when it does."""
    if isinstance(argv, str) or not argv:
        raise ValueError(f"argv is {argv!r}; give a list of at least one word")
    for word in (*argv, *(f"{name}={value}" for name, value in (env or {}).items())):
        try:
            possible = "\0" not in word and len(os.fsencode(word)) < _MOST_WORD_BYTES
        except UnicodeEncodeError:
            possible = False
        if not possible:
            return f"no system takes a word with a NUL, lone surrogates or over 128 KiB: {word[:40]!a}"
    return ""


def _open(limits: Limits) -> NamespaceSandbox:
    return NamespaceSandbox(limits, probe().capabilities)


BACKEND = Backend("namespace", probe, _open)
