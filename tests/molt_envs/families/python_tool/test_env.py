"""The environment: who solves it, what ends it, and what code inside can find out or change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from molt_envs.families.python_tool.env import PythonToolEnv
from molt_envs.families.python_tool.policies import answer, run
from molt_envs.families.python_tool.problems import SPLITS, problem
from molt_envs.policy import Policy
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import write_calls

pytestmark = pytest.mark.real

NUM_SAMPLES = 18
SEARCH = """
import os
found = []
for top in ("/work", "/tmp", "/proc/self", "/proc/1", "/dev/shm", "/etc"):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and ANSWER in open(path, "rb").read(10**6):
                    found.append(path)
            except OSError:
                pass
print(found)
"""


@pytest.fixture(scope="module")
def env() -> Iterator[PythonToolEnv]:
    env = PythonToolEnv()
    yield env
    env.close()


def play(env: PythonToolEnv, task_id: str, who: str, noise: float = 0.0) -> tuple[float, bool, int]:
    observation, info = env.reset(seed=0, options={"task_id": task_id})
    policy: Policy = env.oracle(1, noise) if who == "oracle" else env.baselines(3)[who]
    over, reward = False, 0.0
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        over = terminated or truncated
    return reward, info["success"], info["turn"]


def begin(env: PythonToolEnv, index: int, split: str = "train") -> Any:
    env.reset(seed=0, options={"task_id": f"{split}:{index}"})
    return problem(split, index)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_oracle_solves_every_template(env: PythonToolEnv, split: str, noise: float) -> None:
    plays = [play(env, f"{split}:{index}", "oracle", noise) for index in range(NUM_SAMPLES)]
    assert all(reward == 1.0 and success for reward, success, _ in plays)


def test_noise_costs_turns(env: PythonToolEnv) -> None:
    assert play(env, "train:0", "oracle", 1.0)[2] > play(env, "train:0", "oracle")[2]


@pytest.mark.parametrize("who", ["nothing", "random", "script"])
def test_policies_without_skill_solve_nothing(env: PythonToolEnv, who: str) -> None:
    for split in SPLITS:
        assert sum(play(env, f"{split}:{index}", who)[1] for index in range(NUM_SAMPLES)) <= 1


def test_a_wrong_answer_ends_the_problem_without_a_reward(env: PythonToolEnv) -> None:
    one = begin(env, 0)
    _, reward, terminated, _, info = env.step(answer(one.answer + 1))
    assert (reward, terminated, info["success"]) == (0.0, True, False)


def test_an_answer_that_is_no_number_goes_back_to_the_agent(env: PythonToolEnv) -> None:
    begin(env, 0)
    for action in ("12", '{"name": "answer", "arguments": {"value": "12"}}', answer(float("1e300") * 1e300)):
        observation, _, terminated, _, _ = env.step(action)
        assert observation.startswith("Error: ") and not terminated


def test_a_huge_answer_goes_back_to_the_agent(env: PythonToolEnv) -> None:
    begin(env, 9)
    observation, _, terminated, _, _ = env.step(write_calls(ToolCall("answer", {"value": 10**310})))
    assert "bits" in observation and not terminated
    assert env.step(write_calls(ToolCall("answer", {"value": 10**290})))[2]


def test_an_answer_beside_code_counts_after_it(env: PythonToolEnv) -> None:
    one = begin(env, 0)
    calls = (ToolCall("python", {"code": "1 + 1"}), ToolCall("answer", {"value": one.answer}))
    observation, reward, terminated, _, _ = env.step(write_calls(*calls))
    assert reward == 1.0 and terminated and "2" in observation


def test_the_answer_is_nowhere_inside(env: PythonToolEnv) -> None:
    for index in (4, 8, 14):
        one = begin(env, index)
        hidden = [byte ^ 1 for byte in str(one.answer).encode()]  # so that the search does not find itself
        code = SEARCH.replace("ANSWER", f"bytes(byte ^ 1 for byte in {hidden})")
        assert env.step(run(code))[0] == "[]\n"


def test_code_inside_cannot_reach_the_environment(env: PythonToolEnv) -> None:
    begin(env, 0)
    codes = (
        "import molt_envs",
        "import gc; [one for one in gc.get_objects() if 'Problem' in type(one).__name__][0]",
        "import os; os.kill(os.getppid(), 9); os.kill(-1, 9)",
        "import socket; socket.create_connection(('127.0.0.1', 80), 1)",
    )
    for code in codes:
        observation, reward, terminated, _, info = env.step(run(code))
        assert "Error" in observation or "(nothing printed)" in observation, observation
        assert reward == 0.0 and not terminated and not info["success"]


def test_the_reward_cannot_be_written(env: PythonToolEnv) -> None:
    begin(env, 0)
    code = "print('{\"reward\": 1.0, \"success\": true}'); open('reward.json', 'w').write('1')"
    _, reward, terminated, _, info = env.step(run(code))
    assert reward == 0.0 and not terminated and info["score"] == 0.0
