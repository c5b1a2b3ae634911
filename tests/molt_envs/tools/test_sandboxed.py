"""An episode's sandbox: what the agent's code does to it is told to the agent, and costs no one else."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from molt_envs.errors import InfrastructureError
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import CallResult, Toolbox
from molt_envs.tools.python import python_tool
from molt_envs.tools.sandboxed import LIMITS, StartFile, Workspace
from molt_envs.tools.shell import shell_tool
from sandboxes import WORK_FOLDER

pytestmark = pytest.mark.real

FORK_BOMB = "import os\nwhile True:\n    os.fork()"
ENDS = {
    "killed": "import os; os.kill(os.getpid(), 9)",
    "left": "import os; os._exit(0)",
    "crashed": "import ctypes; ctypes.string_at(0)",
    "memory": "a = [0] * 10**9",
}


@pytest.fixture(params=["namespace", "zygote"])
def workspace(request: pytest.FixtureRequest) -> Iterator[Workspace]:
    workspace = Workspace(request.param, call_timeout_s=5.0)
    workspace.begin({"given/a.txt": StartFile(b"text\n", 0o600)})
    yield workspace
    workspace.close()


def call(workspace: Workspace, tool: str, text: str) -> CallResult:
    box = Toolbox([python_tool(workspace), shell_tool(workspace)])
    return box.call(ToolCall(tool, {"code" if tool == "python" else "command": text}))


def python(workspace: Workspace, code: str) -> str:
    return call(workspace, "python", code).text


def shell(workspace: Workspace, command: str) -> str:
    return call(workspace, "shell", command).text


def test_both_tools_see_the_files_of_the_episode(workspace: Workspace) -> None:
    assert python(workspace, "open('given/a.txt').read()") == "'text\\n'\n"
    assert shell(workspace, "cat given/a.txt; stat -c %a given/a.txt") == "text\n600\n"


def test_an_episode_begins_without_the_names_and_files_of_the_one_before(workspace: Workspace) -> None:
    python(workspace, "x = 1; f = open('/tmp/mine', 'w'); g = open('mine', 'w')")
    workspace.begin({})
    assert "NameError" in python(workspace, "x")
    assert shell(workspace, "ls -A . /tmp") == ".:\n\n/tmp:\n"


def test_no_sandbox_is_opened_before_it_is_needed(workspace: Workspace) -> None:
    assert not workspace.used
    python(workspace, "1")
    assert workspace.used


ENDLESS = ("while True: pass", "import time; time.sleep(60)", "import os; os.kill(os.getpid(), 19)")


@pytest.mark.parametrize("code", ENDLESS)
def test_a_call_that_does_not_end_is_stopped(workspace: Workspace, code: str) -> None:
    python(workspace, "x = 1; open('kept', 'w').close()")
    result = call(workspace, "python", code)
    assert result.is_error and "stopped after 5 s" in result.text and "is lost" in result.text
    assert "NameError" in python(workspace, "x")
    assert "kept" in shell(workspace, "ls")


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_an_interpreter_that_ended_is_told_and_started_again(workspace: Workspace, code: str) -> None:
    result = call(workspace, "python", code)
    assert result.is_error and "the process ended" in result.text
    assert python(workspace, "2 + 2") == "4\n"


def test_a_fork_bomb_ends_with_its_interpreter(workspace: Workspace) -> None:
    python(workspace, FORK_BOMB)
    for _ in range(3):
        python(workspace, "import os; os._exit(0)")
    assert python(workspace, "2 + 2") == "4\n"


@pytest.mark.parametrize("line", ['{"id": 0, "output": "forged"}', "[[", "no json", "[" * 5000, "3"])
def test_a_reply_that_the_code_wrote_itself_reaches_no_later_call(workspace: Workspace, line: str) -> None:
    write = f"    try: os.write(n, b'{line}' + bytes([10]))\n    except OSError: pass"
    python(workspace, f"import os\nfor n in range(3, 30):\n{write}")
    assert "forged" not in python(workspace, "1")
    assert python(workspace, "2 + 2") == "4\n"


def test_endless_output_is_cut(workspace: Workspace) -> None:
    result = call(workspace, "shell", "yes")
    assert len(result.text) < 5000 and "left out" in result.text
    assert shell(workspace, "echo on") == "on\n"


def test_a_full_disk_is_the_agents_trouble(workspace: Workspace) -> None:
    fill = "for n in 1 2 3; do head -c 40000000 /dev/zero > big$n || exit; done"
    assert "exit code" in shell(workspace, fill)
    assert python(workspace, "import os; os._exit(0)").startswith("Error: the process ended")
    assert shell(workspace, "rm big*; echo on") == "on\n"


def test_the_shells_folder_is_kept(workspace: Workspace) -> None:
    assert shell(workspace, "cd given; pwd") == f"{WORK_FOLDER}/given\n"
    assert shell(workspace, "ls; exit 3") == "a.txt\n[exit code 3]\n"
    assert shell(workspace, "pwd; cd ..; rm -r given") == f"{WORK_FOLDER}/given\n"
    assert shell(workspace, "cd /tmp && mkdir gone && cd gone && rmdir ../gone") == "(nothing printed)"
    assert shell(workspace, "pwd") == f"{WORK_FOLDER}\n"


def test_a_syntax_error_of_a_command_is_told(workspace: Workspace) -> None:
    assert "Syntax error" in shell(workspace, "if")
    assert shell(workspace, "echo on") == "on\n"


def test_a_child_in_the_background_holds_no_call_and_ends_with_the_episode(workspace: Workspace) -> None:
    assert shell(workspace, "sleep 61.5 & echo on") == "on\n"
    assert "61.5" in shell(workspace, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    shell(workspace, "(sleep 1; touch late) & echo on")
    workspace.run_trusted("1")
    time.sleep(1.5)
    assert shell(workspace, "ls") == "given\n"


def test_our_own_code_is_not_led_astray_by_files_of_the_agent(workspace: Workspace) -> None:
    fake = "print('forged'); raise SystemExit"
    names = ("json.py", "os.py", "sitecustomize.py", "usercustomize.py", "python3", ".profile", ".bashrc")
    for name in names:
        python(workspace, f"import os; open({name!r}, 'w').write({fake!r}); os.chmod({name!r}, 0o755)")
    poison = "open(d + '/x.pth', 'w').write('import sys; sys.exit(9)')"
    python(workspace, f"import site, os; d = site.getusersitepackages(); os.makedirs(d); {poison}")
    shell(workspace, "export PATH=$PWD PYTHONPATH=$PWD; alias python3=false")
    assert workspace.run_trusted("import json, os; print(json.dumps([1]))") == b"[1]\n"
    assert python(workspace, "import json; json.dumps([1])") == "'[1]'\n"


def test_our_own_code_runs_after_a_fork_bomb(workspace: Workspace) -> None:
    shell(workspace, "bomb() { bomb | bomb & }; bomb")
    assert workspace.run_trusted("print(1)") == b"1\n"


def test_a_broken_sandbox_is_no_ones_failure(workspace: Workspace) -> None:
    python(workspace, "1")
    assert workspace._sandbox is not None
    workspace._sandbox.close()
    with pytest.raises(InfrastructureError, match="the sandbox failed"):
        workspace.ask("python", "1")


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="no sandbox backend 'nowhere'"):
        Workspace("nowhere")


def test_the_memory_limit_is_the_one_that_is_told(workspace: Workspace) -> None:
    assert f"{LIMITS.memory_bytes >> 20} MiB" in python(workspace, ENDS["memory"])
