"""The environment: one picture, Python beside it, and an answer that is near enough."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from molt_envs import images_of
from molt_envs.families.geometry.env import GeometryEnv
from molt_envs.families.geometry.problems import SPLITS, problem
from molt_envs.policy import Policy
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import write_calls

pytestmark = pytest.mark.real

NUM_SAMPLES = 10


@pytest.fixture(scope="module")
def env() -> Iterator[GeometryEnv]:
    env = GeometryEnv()
    yield env
    env.close()


def answer(value: float) -> str:
    return write_calls(ToolCall("answer", {"value": value}))


def play(env: GeometryEnv, task_id: str, who: str, noise: float = 0.0) -> tuple[float, bool, int]:
    observation, info = env.reset(seed=0, options={"task_id": task_id})
    policy: Policy = env.oracle(1, noise) if who == "oracle" else env.baselines(3)[who]
    over, reward = False, 0.0
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        over = terminated or truncated
    return reward, info["success"], info["turn"]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_the_oracle_solves_every_template(env: GeometryEnv, split: str, noise: float) -> None:
    plays = [play(env, f"{split}:{index}", "oracle", noise) for index in range(NUM_SAMPLES)]
    assert {(reward, success) for reward, success, _ in plays} == {(1.0, True)}
    assert {turns for *_, turns in plays} == {3 if noise == 0 else 4}


@pytest.mark.parametrize("who", ["nothing", "random", "script", "blind"])
def test_policies_without_skill_solve_little(env: GeometryEnv, who: str) -> None:
    for split in SPLITS:
        assert sum(play(env, f"{split}:{index}", who)[1] for index in range(60)) <= 9


def test_the_picture_is_shown_once(env: GeometryEnv) -> None:
    first, _ = env.reset(seed=0)
    second = env.step(write_calls(ToolCall("python", {"code": "1 + 1"})))[0]
    assert len(images_of(first)) == 1 and images_of(second) == ()
    assert second["text"].strip() == "2"


@pytest.mark.parametrize(("off", "reward"), [(0.0, 1.0), (0.9, 1.0), (1.1, 0.0)])
def test_an_answer_may_be_off_by_the_tolerance(env: GeometryEnv, off: float, reward: float) -> None:
    for index in (0, 3, 6):
        env.reset(seed=0, options={"task_id": f"train:{index}"})
        asked = problem("train", index).question
        assert env.step(answer(asked.answer + off * asked.tolerance))[1] == reward


def test_a_huge_number_is_a_wrong_answer(env: GeometryEnv) -> None:
    env.reset(seed=0)
    assert env.step(answer(10**400))[1:3] == (0.0, True)


def test_a_picture_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match="from 160 pixels"):
        GeometryEnv(image_size=100)
