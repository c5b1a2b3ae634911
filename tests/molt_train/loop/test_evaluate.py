"""Evaluations: each task once, the same for the same seed; intervals with literal values."""

from __future__ import annotations

import asyncio
import math

import pytest

from molt_train.loop.evaluate import evaluate, summarise, wilson_interval
from molt_train.loop.statistics import evaluation_metrics
from molt_train.rollout.runner import RolloutRunner
from tests.molt_train.rollout.probe_env import SAMPLING, Probes, play, scripted

WORDS = {1: ["win"], 2: ["wait", "win"], 3: ["a", "b", "c"], 4: ["crash"], 5: ["blame"]}


def test_each_task_is_played_once_with_its_own_seed() -> None:
    with RolloutRunner(scripted(WORDS), Probes(), 2) as runner:
        tasks = [f"train:{index}" for index in WORDS]
        result, episodes = asyncio.run(evaluate(runner, "p", tasks, SAMPLING, seed=5))
        _, again = asyncio.run(evaluate(runner, "p", tasks[::-1], SAMPLING, seed=5))
        _, other = asyncio.run(evaluate(runner, "p", tasks, SAMPLING, seed=6))
    assert [episode.task_id for episode in episodes] == tasks
    assert [e.seed for e in again[::-1]] == [e.seed for e in episodes] != [e.seed for e in other]
    assert len({episode.group_id for episode in episodes}) == 5
    assert result.num_episodes == 5


def test_the_unresolved_are_counted_and_enter_no_mean() -> None:
    result = summarise(play(WORDS))
    assert (result.num_episodes, result.num_resolved) == (5, 4)
    assert result.outcomes == {"terminated": 2, "truncated": 1, "unresolved": 1, "failed": 1}
    assert result.success_rate == 0.5
    assert result.score_mean == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert result.turns_mean == pytest.approx((1 + 2 + 3 + 1) / 4)
    assert result.success_interval == wilson_interval(2, 4)


def test_nothing_resolved_is_no_zero() -> None:
    result = summarise(play({4: ["crash"]}))
    assert result.num_resolved == 0 and math.isnan(result.success_rate) and math.isnan(result.score_mean)
    assert result.success_interval == (0.0, 1.0)


@pytest.mark.parametrize(
    ("solved", "count", "low", "high"),
    [
        (0, 10, 0.0, 0.277533),
        (5, 10, 0.236593, 0.763407),
        (10, 10, 0.722467, 1.0),
        (600, 1000, 0.569309, 0.629925),
    ],
)
def test_the_wilson_interval(solved: int, count: int, low: float, high: float) -> None:
    assert wilson_interval(solved, count) == pytest.approx((low, high), abs=1e-6)


def test_metrics_of_an_evaluation() -> None:
    episodes = play(WORDS)
    values = evaluation_metrics(summarise(episodes), episodes)
    assert values["eval_success_rate"] == 0.5 and values["eval_num_success"] == 2
    assert (values["eval_num_resolved"], values["eval_num_unresolved"]) == (4, 1)
    assert values["eval_reward_mean"] == pytest.approx((1 + 1.25 + 0.75 + 0) / 4)
    assert values["eval_action_tokens_mean"] == pytest.approx((4 + 9 + 6 + 6) / 4)
    nothing = play({4: ["crash"]})
    assert "eval_success_rate" not in evaluation_metrics(summarise(nothing), nothing)
