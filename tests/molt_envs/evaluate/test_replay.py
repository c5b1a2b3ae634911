"""Replays: the same comes out the same, and each difference is found where it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from molt_envs.evaluate.player import Job, play_episode
from molt_envs.evaluate.policy import Limits
from molt_envs.evaluate.record import EpisodeRecord
from molt_envs.evaluate.replay import replay as replay_episode
from tests.molt_envs.evaluate.toys import Says
from tests.molt_envs.toy import ToyEnv


def recorded(*words: str) -> EpisodeRecord:
    return play_episode(ToyEnv(), Says(*words, chat=True), Job("toy", "train:0", 0, 5), Limits(), "test")


@pytest.mark.parametrize("words", [("fig", "rød"), ("a", "b", "c", "d"), ("fig", "CUT")])
def test_a_sound_record_comes_out_the_same(words: tuple[str, ...]) -> None:
    assert replay_episode(ToyEnv(), recorded(*words)) is None


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("observation", "no, not fog", "observation after action 1, from character 9"),
        ("reward", 0.5, "reward after action 1: recorded 0.5, now -0.1"),
        ("terminated", True, "terminated after action 1: recorded True, now False"),
        ("truncated", True, "truncated after action 1"),
        ("score", 0.25, "score after action 1"),
        ("success", True, "success after action 1"),
    ],
)
def test_the_first_difference_is_named(field: str, value: object, shown: str) -> None:
    record = recorded("fig", "rød")
    record = replace(record, turns=(replace(record.turns[0], **{field: value}), record.turns[1]))
    assert shown in str(replay_episode(ToyEnv(), record))


def test_another_beginning_is_a_difference() -> None:
    record = replace(recorded("rød"), observation="train:0: other?")
    assert "observation after the reset, from character 9" in str(replay_episode(ToyEnv(), record))
