"""What may be admitted, and which batch is ready: no token too old, no group thrown away."""

from __future__ import annotations

import random

import pytest

from molt_train.loop.buffer import Group, GroupBuffer


def group(index: int, version: int = 0, is_complete: bool = True) -> Group:
    return Group(index, f"train:{index}", version, {}, is_complete)


def filled(num_groups: int, max_staleness: int, in_order: bool, *groups: Group) -> GroupBuffer:
    buffer = GroupBuffer(num_groups, max_staleness, in_order)
    for item in groups:
        buffer.admit(item)
    return buffer


def indices(batch: list[Group] | None) -> list[int] | None:
    return None if batch is None else [item.index for item in batch]


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("max_staleness", [0, 1, 2, 5])
@pytest.mark.parametrize("num_groups", [1, 3])
@pytest.mark.parametrize("seed", range(20))
def test_every_group_is_trained_on_once_and_none_too_late(
    seed: int, num_groups: int, max_staleness: int, in_order: bool
) -> None:
    """A learner and an engine in random order; slow groups take a hundred times as long as quick ones."""
    rng = random.Random(seed)
    buffer = GroupBuffer(num_groups, max_staleness, in_order)
    running: list[tuple[float, Group]] = []
    trained: list[int] = []
    version = count = 0
    now = 0.0
    in_training = False
    while version < 60:
        while buffer.num_admissible > 0 and count < 60 * num_groups:
            new = group(count, version, is_complete=False)
            count += 1
            buffer.admit(new)
            running.append((now + rng.choice([1, 1, 1, 5, 100]) * rng.random(), new))
        assert len(buffer.groups) <= num_groups * (max_staleness + 1)
        batch = None if in_training else buffer.take(version)
        if batch is not None:
            in_training = True
            assert len(batch) == num_groups
            assert all(version - item.policy_version <= max_staleness for item in batch)
            trained += [item.index for item in batch]
        if in_training and (not running or rng.random() < 0.3):
            buffer.trained()
            version += 1
            in_training = False
            continue
        assert running, "nothing runs and no batch is ready"
        running.sort(key=lambda item: item[0])
        now, ended = running.pop(0)
        ended.is_complete = True
    assert sorted(trained) == list(range(60 * num_groups))
    if in_order:
        assert trained == sorted(trained)


def test_a_batch_waits_for_groups_that_could_not_be_later() -> None:
    slow, quick = group(0, 0, is_complete=False), group(1, 1)
    buffer = filled(1, 1, False, slow, quick)
    assert buffer.take(1) is None
    slow.is_complete = True
    assert indices(buffer.take(1)) == [0]
    buffer.trained()
    assert indices(buffer.take(2)) == [1]


def test_quick_groups_go_first_where_there_is_time() -> None:
    buffer = filled(1, 2, False, group(0, 0, is_complete=False), group(1, 0))
    assert indices(buffer.take(0)) == [1]


def test_in_order_the_first_are_waited_for() -> None:
    buffer = filled(1, 2, True, group(0, 0, is_complete=False), group(1, 0))
    assert buffer.take(0) is None


def test_a_batch_in_training_counts_until_it_is_trained() -> None:
    buffer = filled(2, 0, False, group(1), group(0))
    assert buffer.num_admissible == 0
    assert indices(buffer.take(0)) == [0, 1]
    assert buffer.num_admissible == 0
    buffer.trained()
    assert buffer.num_admissible == 2


def test_a_dropped_group_frees_its_place() -> None:
    dull = group(0, is_complete=False)
    buffer = filled(2, 0, False, dull, group(1))
    buffer.drop(dull)
    assert buffer.num_admissible == 1 and buffer.take(0) is None
    assert indices(buffer.take(0, 1)) == [1]
