"""One episode: what is written down, and how it ends."""

from __future__ import annotations

import pytest

from molt_envs.evaluate.player import Job, play_episode
from molt_envs.evaluate.policy import Limits, PolicySource
from molt_envs.evaluate.record import EpisodeRecord
from tests.molt_envs.evaluate.toys import Says, TroubleEnv
from tests.molt_envs.toy import ToyEnv

LIMITS = Limits()


def play(source: PolicySource, task_id: str = "train:0") -> EpisodeRecord:
    return play_episode(ToyEnv(), source, Job("toy", task_id, 0, 5), LIMITS, "test")


def test_a_solved_episode_has_its_turns() -> None:
    record = play(Says("fig", "rød"))
    assert (record.outcome, record.score, record.success) == ("terminated", 1.0, True)
    assert [(turn.action, turn.reward, turn.observation) for turn in record.turns] == [
        ("fig", -0.1, "no, not fig"),
        ("rød", 1.0, "yes"),
    ]
    assert record.reward == pytest.approx(0.9)
    assert record.observation.startswith("train:0: ")
    assert record.system_prompt == "Say one word at a time."


def test_the_environments_limit_truncates() -> None:
    record = play(Says("fig"))
    assert (record.outcome, record.success, len(record.turns)) == ("truncated", False, 4)
    assert [turn.truncated for turn in record.turns] == [False, False, False, True]


def test_a_chat_policys_message_and_tokens_are_kept() -> None:
    record = play(Says("fig", "rød", chat=True))
    assert record.turns[0].message == "I say fig"
    assert (record.num_prompt_tokens, record.num_completion_tokens) == (20, 6)


def test_a_cut_message_ends_the_episode_and_is_not_taken() -> None:
    record = play(Says("fig", "CUT", chat=True))
    assert (record.outcome, record.score, record.success) == ("length", 0.0, False)
    assert (record.turns[-1].action, record.turns[-1].observation) == ("", None)


def test_a_full_context_ends_the_episode() -> None:
    record = play(Says("fig", "FULL", chat=True))
    assert (record.outcome, len(record.turns)) == ("length", 1)


def test_a_first_prompt_that_does_not_fit_is_unresolved() -> None:
    assert play(Says("FULL", chat=True)).outcome == "unresolved"


@pytest.mark.parametrize(
    ("word", "outcome", "score"), [("policy", "failed", 0.0), ("crash", "unresolved", None)]
)
def test_an_error_becomes_an_outcome(word: str, outcome: str, score: float | None) -> None:
    record = play_episode(TroubleEnv(), Says(word), Job("t", "test:0", 0, 0), LIMITS, "test")
    assert (record.outcome, record.score) == (outcome, score)
    assert record.reason


def test_an_unknown_task_is_unresolved() -> None:
    record = play(Says("fig"), task_id="train:99")
    assert record.outcome == "unresolved"
    assert "train:99" in record.reason
