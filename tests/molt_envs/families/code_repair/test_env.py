"""The environment in a real sandbox: what is rewarded, and the ways around it that are not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from molt_envs.families.code_repair.env import CodeRepairEnv
from molt_envs.families.code_repair.fresh import FreshSandboxes
from molt_envs.families.code_repair.policies import call
from molt_envs.families.code_repair.tasks import Repair, repair
from molt_envs.policy import Policy
from sandboxes import SandboxUnavailable

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def env() -> Iterator[CodeRepairEnv]:
    env = CodeRepairEnv()
    yield env
    env.close()


def begin(env: CodeRepairEnv, index: int = 0) -> Repair:
    env.reset(seed=0, options={"task_id": f"train:{index}"})
    return repair("train", index)


def submitted(env: CodeRepairEnv) -> float:
    _, reward, terminated, _, info = env.step(call("submit"))
    assert terminated
    assert info["success"] == (reward == 1.0)
    return reward


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_an_oracle_that_slips_solves_every_task(env: CodeRepairEnv, split: str) -> None:
    for index in range(4):
        observation, info = env.reset(seed=0, options={"task_id": f"{split}:{index}"})
        policy: Policy = env.oracle(noise=0.3)
        over, reward = False, 0.0
        while not over:
            observation, reward, over, truncated, info = env.step(policy.act(observation, info))
            assert not truncated
        assert reward == 1.0


def test_the_given_project_fails_its_test_and_earns_nothing(env: CodeRepairEnv) -> None:
    task = begin(env)
    report = env.step(call("run_tests"))[0]
    assert f"FAILED tests/test_{task.broken.name}.py" in report
    assert submitted(env) == 0.0


def test_emptied_tests_pass_and_earn_nothing(env: CodeRepairEnv) -> None:
    task = begin(env)
    env.step(call("write_file", path=f"tests/test_{task.broken.name}.py", text=""))
    assert " 0 failed" in " " + env.step(call("run_tests"))[0]
    assert submitted(env) == 0.0


@pytest.mark.parametrize("path", ["tests/conftest.py", "sitecustomize.py", "a.pth", "json.py"])
def test_a_right_module_beside_the_package_is_not_taken_along(env: CodeRepairEnv, path: str) -> None:
    task = begin(env)
    patch = f"import {task.package}.{task.broken.name}\n"
    env.step(call("write_file", path=path, text=patch + task.broken.code))
    assert submitted(env) == 0.0


def test_code_that_answers_only_what_the_shown_tests_ask_earns_nothing(env: CodeRepairEnv) -> None:
    task = begin(env)
    special = "".join(
        f"\n\n_{name} = {name}\n\n\ndef {name}(*args):\n"
        f"    shown = {{}}\n    return shown[args] if repr(args) in shown else _{name}(*args)\n"
        for name in task.broken.public
    )
    text = task.files[task.broken_path] + special
    env.step(call("write_file", path=task.broken_path, text=text))
    assert submitted(env) == 0.0


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos._exit(0)\n",
        "raise SystemExit(0)\n",
        "while True: pass\n",
        "print('[]')\nimport os\nos._exit(0)\n",
        "import atexit\natexit.register(print, [\"'right'\"] * 99)\n",
        "import sys\nfor frame in sys._current_frames().values():\n    print(frame.f_back.f_locals)\n",
        "import json\njson.dumps = lambda value: '[]'\n",
        "class A:\n    def __eq__(self, other): return True\n\ndef __getattr__(name): return A()\n",
        "x = [0] * 10**10\n",
        "not python",
    ],
)
def test_code_that_attacks_its_judge_earns_nothing(env: CodeRepairEnv, code: str) -> None:
    task = begin(env)
    env.step(call("write_file", path=task.broken_path, text=code))
    assert submitted(env) == 0.0


def test_tests_never_meet_the_right_results_nor_each_other(env: CodeRepairEnv) -> None:
    task = begin(env)
    search = (
        "import os, sys\n\n\ndef test_look():\n"
        "    open('left', 'w').close()\n"
        "    for top in ('.', '/tmp', '/proc/self', '/etc'):\n"
        "        for folder, _, names in os.walk(top):\n"
        "            for name in names:\n"
        "                print(os.path.join(folder, name)[:60])\n"
        "    assert len(sys.argv) == 1\n"
    )
    env.step(call("write_file", path="tests/test_look.py", text=search))
    for _ in range(2):
        report = env.step(call("run_tests"))[0]
        assert "outcomes.json" not in report
    env.step(
        call("write_file", path="tests/test_look.py", text="import os\nassert not os.path.exists('left')\n")
    )
    assert "FAILED tests/test_look.py" not in env.step(call("run_tests"))[0]
    assert task.broken.code not in report


def test_endless_tests_are_told(env: CodeRepairEnv) -> None:
    begin(env)
    env.step(call("write_file", path="tests/test_a.py", text="while True: pass\n"))
    assert "stopped after" in env.step(call("run_tests"))[0]


def test_a_backend_that_is_not_there_is_refused() -> None:
    with pytest.raises((SandboxUnavailable, ValueError), match="backend"):
        CodeRepairEnv(backend="nowhere")


def test_each_run_has_a_sandbox_of_its_own() -> None:
    sandboxes = FreshSandboxes("namespace")
    write = {"tests/test_a.py": "def test_a():\n    open('left', 'w').close()\n"}
    look = {"tests/test_a.py": "def test_a():\n    import os\n    assert os.listdir() == ['tests']\n"}
    assert b"0 failed, 1 passed" in sandboxes.run_tests(write).stdout
    assert b"0 failed, 1 passed" in sandboxes.run_tests(look).stdout
    sandboxes.close()
