"""The base class: tasks by name, turn limits, refusals; and rows of the recorder."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from molt_envs import (
    ActionGrammar,
    EpisodeDone,
    EpisodeRecorder,
    InfrastructureError,
    ProtocolError,
    Task,
    TaskError,
    Turn,
)
from tests.molt_envs.toy import ToyEnv, register_toy


def test_gymnasium_accepts_the_base_class() -> None:
    check_env(gymnasium.make(register_toy()).unwrapped)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spilt": "train"}, "unknown reset option 'spilt'"),
        ({"split": "dev"}, "unknown split 'dev'; this environment has train, test"),
        ({"split": 3}, "unknown split 3"),
        ({"task_id": "train:6"}, "train has train:0 to train:5"),
        ({"task_id": "train:-1"}, "does not exist"),
        ({"task_id": "train:²"}, "does not exist"),
        ({"task_id": "train"}, "does not exist"),
        ({"task_id": "test:0", "split": "train"}, "not in split 'train'"),
    ],
)
def test_a_task_that_does_not_exist_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        ToyEnv().reset(seed=0, options=options)


def test_naming_the_drawn_task_gives_the_same_episode() -> None:
    env = ToyEnv()
    for seed in range(5):
        first = env.reset(seed=seed)
        assert env.reset(seed=seed, options={"task_id": first[1]["task_id"]}) == first


def test_a_split_holds_the_drawn_task() -> None:
    env = ToyEnv()
    assert {env.reset(seed=seed, options={"split": "test"})[1]["split"] for seed in range(9)} == {"test"}


def test_all_tasks_of_a_split_are_drawn() -> None:
    env = ToyEnv()
    assert len({env.reset(seed=seed)[1]["task_id"] for seed in range(60)}) == 6


def test_a_step_without_an_episode_is_refused() -> None:
    env = ToyEnv()
    with pytest.raises(EpisodeDone):
        env.step("x")
    env.reset(seed=0)
    for _ in range(4):
        last = env.step("x")
    assert last[2:4] == (False, True)
    with pytest.raises(EpisodeDone):
        env.step("x")


def test_a_refused_reset_ends_the_episode_before_it() -> None:
    env = ToyEnv()
    env.reset(seed=0)
    with pytest.raises(TaskError):
        env.reset(options={"split": "dev"})
    with pytest.raises(EpisodeDone):
        env.step("x")


def test_success_in_the_last_turn_is_not_truncation() -> None:
    env = ToyEnv()
    env.reset(seed=0, options={"task_id": "train:0"})
    for _ in range(3):
        env.step("x")
    assert env.step("rød")[1:4] == (1.0, True, False)


@pytest.mark.parametrize("reward", [1.5, -0.2, float("nan")])
def test_a_reward_outside_its_range_is_our_fault(reward: float) -> None:
    class Generous(ToyEnv):
        def _act(self, action: str) -> Turn:
            return Turn("", reward=reward)

    env = Generous()
    env.reset(seed=0)
    with pytest.raises(InfrastructureError, match="outside the declared range"):
        env.step("x")


def test_an_action_is_a_string() -> None:
    env = ToyEnv()
    env.reset(seed=0)
    with pytest.raises(TypeError, match="not bytes"):
        env.step(b"x")  # type: ignore[arg-type]


def test_the_generator_depends_on_the_seed_alone() -> None:
    drawn: list[int] = []

    class Drawing(ToyEnv):
        def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
            drawn.append(int(rng.integers(2**31)))
            return super()._begin(task, rng)

    for task_id in ("train:0", "test:2"):
        Drawing().reset(seed=5, options={"task_id": task_id})
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("pattern", "text", "action"),
    [
        (None, "  look \n", "look"),
        (r"\w+\[.*?\]", "first search[a], then click[b] now", "click[b]"),
        (r"\w+\[.*?\]", " nothing here ", "nothing here"),
        (r"\w+\[.*?\]", "", ""),
    ],
)
def test_the_last_match_is_the_action(pattern: str | None, text: str, action: str) -> None:
    assert ActionGrammar("", "", pattern).extract(text) == action


def test_the_recorder_refuses_what_would_break_the_segment() -> None:
    recorder = EpisodeRecorder()
    with pytest.raises(ProtocolError, match="no segment is open"):
        recorder.append([1])
    recorder.open([1])
    with pytest.raises(ProtocolError, match="still open"):
        recorder.open([1])
    with pytest.raises(ProtocolError, match="before the first action"):
        recorder.reward(1.0)
    with pytest.raises(ProtocolError, match="sampled no token"):
        recorder.action([], [], [])
    with pytest.raises(ProtocolError, match="policy version -1"):
        recorder.action([1], [-1.0], [-1])
    recorder.action([1], [-1.0], [0])
    with pytest.raises(ProtocolError, match="not finite"):
        recorder.reward(float("nan"))


def test_an_action_without_a_prompt_is_refused() -> None:
    recorder = EpisodeRecorder()
    recorder.open([])
    with pytest.raises(ProtocolError, match="token 0 is never an action"):
        recorder.action([1], [-1.0], [0])


def test_a_segment_without_actions_is_dropped() -> None:
    recorder = EpisodeRecorder()
    recorder.open([1, 2])
    recorder.close("unresolved")
    recorder.close("unresolved")
    assert recorder.segments() == ()
