"""What has been admitted and not yet trained on: groups under way, groups that wait for the learner.

In: groups as they are admitted and as they complete. Out: the next batch, such that no token is ever older
than the bound: old groups are waited for, never thrown away, so that slow tasks are trained on as often as
quick ones.

A group that was admitted at version v may hold tokens of version v, so it must be in a batch of version v +
S at the latest (S = `max_staleness`): its deadline. With N groups a batch, at most N · (S + 1) groups are
outstanding, so every deadline can be met; a batch is ready when it leaves no deadline behind that the later
ones cannot meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from molt_train.rewards import Graded


@dataclass(eq=False)
class Group:
    """Attempts at one task that share a baseline."""

    index: int
    """Its place among all groups of the run."""
    task_id: str
    """`split:index`."""
    policy_version: int
    """The engine's at its admission: no token of it is older."""
    graded: dict[int, Graded]
    """Attempts that have ended, by number."""
    is_complete: bool = False
    """All have ended, and the group is to be trained on."""


class GroupBuffer:
    """Pure book-keeping; the version of a batch is the learner's when it begins to train on it.

    Args:
        num_groups: groups of a batch, N.
        max_staleness: S.
        in_order: batches are made of the groups with the lowest indices, whatever completes first.
    """

    def __init__(self, num_groups: int, max_staleness: int, in_order: bool) -> None:
        self._num_groups, self._max_staleness, self._in_order = num_groups, max_staleness, in_order
        self._outstanding: list[Group] = []
        self._in_training: list[Group] = []

    @property
    def groups(self) -> Sequence[Group]:
        """All that are outstanding, those in training included, by index."""
        return sorted([*self._in_training, *self._outstanding], key=lambda group: group.index)

    @property
    def num_incomplete(self) -> int:
        """Groups under way."""
        return sum(not group.is_complete for group in self._outstanding)

    @property
    def num_admissible(self) -> int:
        """Groups that may be admitted now."""
        num_outstanding = len(self._outstanding) + len(self._in_training)
        return self._num_groups * (self._max_staleness + 1) - num_outstanding

    def admit(self, group: Group) -> None:
        """Take in a group that begins."""
        self._outstanding.append(group)

    def drop(self, group: Group) -> None:
        """A group has ended and is not to be trained on; its place is free."""
        self._outstanding.remove(group)

    def take(self, version: int, num_groups: int | None = None) -> list[Group] | None:
        """The next batch, by index, if it is ready: it counts as outstanding until `trained`.

        Args:
            version: the learner's version, which will train on it.
            num_groups: a smaller batch than the usual.
        """
        size = self._num_groups if num_groups is None else num_groups
        if self._in_order:
            first = sorted(self._outstanding, key=lambda group: group.index)[:size]
            batch = [group for group in first if group.is_complete]
        else:
            complete = [group for group in self._outstanding if group.is_complete]
            batch = sorted(complete, key=lambda group: (group.policy_version, group.index))[:size]
        if len(batch) < size or not self._leaves_all_deadlines(batch, version):
            return None
        self._outstanding = [group for group in self._outstanding if group not in batch]
        self._in_training = batch
        return sorted(batch, key=lambda group: group.index)

    def trained(self) -> None:
        """The batch that was taken has been trained on."""
        self._in_training = []

    def _leaves_all_deadlines(self, batch: Sequence[Group], version: int) -> bool:
        """Whether, for every deadline, no more groups are left than the batches up to it can hold."""
        left = [group for group in self._outstanding if group not in batch]
        deadlines = sorted(group.policy_version + self._max_staleness for group in left)
        return all(
            number <= self._num_groups * (deadline - version)
            for number, deadline in enumerate(deadlines, start=1)
        )
