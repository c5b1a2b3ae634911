"""The shipped table of word associations, and the boards that are drawn from it.

In: a task. Out: its board: words, of which the targets are two groups that one clue each means.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
from dataclasses import dataclass
from importlib import resources

from molt_envs.env import Task

NUM_GROUPS = 2
GROUP_SIZE = 3
NUM_WORDS = 16
HELD_OUT_SHARE = 0.1

Group = tuple[str, tuple[str, ...]]
"""A clue and the targets that it means."""


@dataclass(frozen=True)
class Board:
    """The words on the table."""

    words: tuple[str, ...]
    """All words, in the order shown."""
    targets: frozenset[str]
    """Those to be found."""

    def allows(self, clue: str) -> bool:
        """Whether `clue` is in no word of the board and around none."""
        return not any(clue in word or word in clue for word in self.words)


@functools.cache
def associations() -> dict[str, frozenset[str]]:
    """Clue -> the words that it brings to mind."""
    text = resources.files("molt_envs.families.games").joinpath("data/associations.json").read_text("utf-8")
    return {clue: frozenset(words) for clue, words in json.loads(text).items()}


@functools.cache
def groups() -> dict[str, tuple[Group, ...]]:
    """Split -> its groups; no group is in two splits."""
    every = [
        (clue, targets)
        for clue, words in associations().items()
        for targets in itertools.combinations(sorted(words), GROUP_SIZE)
    ]
    random.Random("word clues").shuffle(every)
    held_out = int(len(every) * HELD_OUT_SHARE)
    return {
        "test": tuple(every[:held_out]),
        "validation": tuple(every[held_out : 2 * held_out]),
        "train": tuple(every[2 * held_out :]),
    }


def draw_board(task: Task) -> Board:
    """The board of `task`: each group's clue is legal and means no other word on it."""
    table = associations()
    vocabulary = sorted(frozenset[str]().union(*table.values()))
    rng = random.Random(f"word clues {task.task_id}")
    while True:
        chosen = rng.sample(groups()[task.split], NUM_GROUPS)
        meant = frozenset[str]().union(*(table[clue] for clue, _ in chosen))
        targets = frozenset(word for _, group in chosen for word in group)
        others = [word for word in vocabulary if word not in meant]
        words = [*targets, *rng.sample(others, NUM_WORDS - len(targets))]
        board = Board(tuple(rng.sample(sorted(words), NUM_WORDS)), targets)
        apart = all(table[clue] & targets == frozenset(group) for clue, group in chosen)
        if (
            apart
            and len(targets) == NUM_GROUPS * GROUP_SIZE
            and all(board.allows(clue) for clue, _ in chosen)
        ):
            return board
