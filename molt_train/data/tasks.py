"""Which tasks come next: every task once per epoch, in an order that depends on the seed alone.

In: a split's size and a seed. Out: task ids, and a position that a checkpoint can hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SamplerState:
    """Where a sampler stands."""

    epoch: int
    """Full passes begun before this one."""
    position: int
    """Tasks already given in this pass."""


class TaskSampler:
    """Gives the tasks of a split in shuffled epochs.

    Args:
        split: name of the split.
        num_tasks: its size.
        seed: fixes the order of every epoch.
        state: where to go on; the start by default.
    """

    def __init__(self, split: str, num_tasks: int, seed: int, state: SamplerState | None = None) -> None:
        if num_tasks < 1:
            raise ValueError(f"split {split!r} has {num_tasks} tasks; there is nothing to sample")
        self._split, self._num_tasks, self._seed = split, num_tasks, seed
        self.state = state or SamplerState(0, 0)

    def next(self, count: int) -> list[str]:
        """The next `count` task ids; an epoch's end is crossed without a gap."""
        task_ids: list[str] = []
        while len(task_ids) < count:
            epoch, position = self.state.epoch, self.state.position
            order = np.random.default_rng([self._seed, epoch]).permutation(self._num_tasks)
            taken = order[position : position + count - len(task_ids)]
            task_ids += [f"{self._split}:{index}" for index in taken]
            position += len(taken)
            done = position == self._num_tasks
            self.state = SamplerState(epoch + 1, 0) if done else SamplerState(epoch, position)
        return task_ids


def derive_seed(*parts: int | str) -> int:
    """A 31-bit seed from its parts; equal in every process."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=4).digest(), "little") >> 1


def evaluation_tasks(splits: Sequence[tuple[str, int]], num_tasks: int) -> list[str]:
    """The first `num_tasks` tasks of the splits, taken in order.

    Raises:
        ValueError: the splits have fewer tasks.
    """
    task_ids = [f"{split}:{index}" for split, size in splits for index in range(size)]
    if len(task_ids) < num_tasks:
        names = ", ".join(f"{split} ({size})" for split, size in splits)
        raise ValueError(
            f"{num_tasks} evaluation tasks asked for, {names} has {len(task_ids)}; lower eval.num_tasks"
        )
    return task_ids[:num_tasks]
