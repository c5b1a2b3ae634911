"""Every task once per epoch, in an order that the seed alone fixes, resumable anywhere."""

from __future__ import annotations

import pytest

from molt_train.data.tasks import SamplerState, TaskSampler, derive_seed, evaluation_tasks


@pytest.mark.parametrize("count", [1, 3, 7, 10, 23])
def test_each_task_comes_once_per_epoch(count: int) -> None:
    sampler = TaskSampler("train", 10, seed=3)
    given: list[str] = []
    while len(given) < 40:
        given += sampler.next(count)
    for epoch in range(4):
        assert sorted(given[epoch * 10 : epoch * 10 + 10]) == [f"train:{index}" for index in range(10)]
    assert given[:10] != given[10:20]


def test_the_seed_fixes_the_order() -> None:
    first, again, other = (TaskSampler("train", 50, seed).next(50) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("stop", range(0, 25, 4))
def test_a_resumed_sampler_goes_on(stop: int) -> None:
    whole = TaskSampler("train", 10, seed=3)
    expected = whole.next(30)
    first = TaskSampler("train", 10, seed=3)
    head = first.next(stop)
    resumed = TaskSampler("train", 10, 3, SamplerState(first.state.epoch, first.state.position))
    assert head + resumed.next(30 - stop) == expected
    assert resumed.state == whole.state


def test_an_empty_split_is_refused() -> None:
    with pytest.raises(ValueError, match="'hard' has 0 tasks"):
        TaskSampler("hard", 0, 0)


def test_seeds_differ_by_part_and_fit_31_bits() -> None:
    seeds = {derive_seed(1, "a"), derive_seed(1, "b"), derive_seed(2, "a"), derive_seed(1, "a", 0)}
    assert len(seeds) == 4 and max(seeds) < 2**31
    assert derive_seed(7, "rollout", 3) == 2_036_912_855


def test_evaluation_takes_the_first_tasks_of_the_splits_in_order() -> None:
    assert evaluation_tasks([("test", 2), ("hard", 2)], 3) == ["test:0", "test:1", "hard:0"]
    with pytest.raises(ValueError, match=r"5 .*test \(2\), hard \(2\) has 4; lower eval.num_tasks"):
        evaluation_tasks([("test", 2), ("hard", 2)], 5)
