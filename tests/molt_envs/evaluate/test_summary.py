"""Numbers of an evaluation: unresolved episodes are apart, tasks are the unit."""

from __future__ import annotations

import pytest

from molt_envs.evaluate.record import EpisodeRecord, TurnRecord
from molt_envs.evaluate.summary import Prices, summarise
from molt_envs.protocol.episode import Outcome


def record(task: int, sample: int, success: bool | None, outcome: Outcome = "terminated") -> EpisodeRecord:
    turn = TurnRecord("m", "a", "o", 0.5, num_prompt_tokens=100, num_completion_tokens=10)
    score = None if success is None else float(success)
    name = f"e#test:{task}#{sample}"
    task_id = f"test:{task}"
    return EpisodeRecord(
        name,
        "e",
        task_id,
        sample,
        0,
        "p",
        outcome,
        score,
        success,
        "why" if success is None else "",
        "",
        "",
        (turn,),
    )


def test_unresolved_episodes_are_counted_apart_and_never_as_zero() -> None:
    (one,) = summarise([record(0, 0, True), record(1, 0, None, "unresolved")], Prices())
    assert (one.num_tasks, one.num_episodes, one.num_unresolved, one.reason) == (1, 2, 1, "why")
    assert one.passes[1].value == 1.0
    assert one.score is not None and one.score.value == 1.0


def test_pass_at_k_is_over_tasks() -> None:
    records = [record(0, sample, sample == 0) for sample in range(4)] + [
        record(1, s, False) for s in range(4)
    ]
    (one,) = summarise(records, Prices())
    assert list(one.passes) == [1, 2, 4]
    assert [one.passes[k].value for k in (1, 2, 4)] == pytest.approx([0.125, 0.25, 0.5])
    assert one.reward is not None and one.reward.value == 0.5


def test_a_task_with_too_few_samples_is_left_out_of_pass_at_k() -> None:
    records = [record(0, 0, True), record(0, 1, True), record(1, 0, False), record(1, 1, None, "unresolved")]
    (one,) = summarise(records, Prices())
    assert (one.passes[1].value, one.passes[2].value) == (0.5, 1.0)


def test_tokens_have_their_price() -> None:
    (one,) = summarise([record(0, 0, True), record(1, 0, False)], Prices(prompt=2.0, completion=30.0))
    assert (one.num_prompt_tokens, one.num_completion_tokens) == (200, 20)
    assert one.cost == pytest.approx((200 * 2 + 20 * 30) / 1e6)


def test_nothing_resolved_has_no_numbers() -> None:
    (one,) = summarise([record(0, 0, None, "unresolved")], Prices())
    assert (one.passes, one.score, one.num_tasks) == ({}, None, 0)
