"""The groups of a step, what length costs, which groups are kept, and the shuffled control."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from molt_train.config import Config
from molt_train.loop.rollouts import group_requests, is_informative, penalise_length, shuffle_rewards
from molt_train.rewards import Graded
from tests.molt_train.episodes import make_episode, make_segment


def config(**algorithm: Any) -> Config:
    return Config.model_validate(
        {
            "algorithm": algorithm,
            "rollout": {"group_size": 3, "max_context_tokens": 100, "max_turn_tokens": 8},
            "model": {"path": "tiny"},
            "env": {"id": "molt-tests/Toy-v0"},
        }
    )


def test_groups_are_of_one_task_with_a_seed_for_each_attempt() -> None:
    size = config().rollout.num_tasks
    requests = group_requests(config(), 7 * size + 2, "train:4")
    assert [r.task_id for r in requests] == ["train:4"] * 3
    assert [r.episode_id for r in requests] == ["7/2/0", "7/2/1", "7/2/2"]
    assert {r.group_id for r in requests} == {"7/2"}
    assert len({r.seed for r in requests}) == 3
    assert requests == group_requests(config(), 7 * size + 2, "train:4")
    others = [group_requests(config(), 7 * size + place, "train:4") for place in (0, 1, 3, size + 2)]
    assert {r.seed for r in requests}.isdisjoint(r.seed for other in others for r in other)


def of_length(*num_tokens: int) -> Graded:
    segments = [make_segment([1] * (count - 1), [([2], [])]) for count in num_tokens]
    return Graded(make_episode(segments), 2.0)


def test_length_costs_by_the_longest_segment() -> None:
    shaped = penalise_length(
        [of_length(80), of_length(10, 90), of_length(100), Graded(of_length(100).episode, None)],
        config(overlong_tokens=20, overlong_penalty=0.5),
    )
    assert [item.reward for item in shaped] == [2.0, 1.75, 1.5, None]
    assert [item.reward for item in penalise_length([of_length(100)], config())] == [2.0]


def scored(group: str, *scores: float | None) -> list[Graded]:
    segment = make_segment([1], [([2], [])])
    return [
        Graded(
            make_episode(
                [segment],
                group,
                score=score,
                success=None,
                outcome="unresolved" if score is None else "terminated",
            ),
            score,
        )
        for score in scores
    ]


@pytest.mark.parametrize(
    ("scores", "kept"), [((0, 0), False), ((0, 1), True), ((1, 1), False), ((None, None), False)]
)
def test_only_groups_between_the_bounds_are_kept(scores: tuple[float | None, ...], kept: bool) -> None:
    assert is_informative(scored("g", *scores), 0.0, 1.0) is kept


def test_an_episode_counts_once_and_the_unresolved_not_at_all() -> None:
    assert is_informative(scored("g", 0.0, 1.0, None), 0.45, 0.55)


def test_shuffled_rewards_are_the_same_rewards_elsewhere() -> None:
    graded = [*scored("a", 0.0, 0.1, None, 0.2), *scored("b", *np.linspace(0.3, 0.9, 20))]
    shuffled = shuffle_rewards(graded, seed=1, step=2)
    before, after = ([item.reward for item in items] for items in (graded, shuffled))
    assert after != before and after[2] is None
    assert sorted(filter(None, after)) == pytest.approx(sorted(filter(None, before)))
    assert [item.episode for item in shuffled] == [item.episode for item in graded]
    assert [item.reward for item in shuffle_rewards(graded, 1, 2)] == after
    assert [item.reward for item in shuffle_rewards(graded, 1, 3)] != after
