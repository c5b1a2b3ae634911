"""Policies: one that sees everything, one that saw the first picture, and some that see none.

In: the running episode's board, or the text. Out: moves.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from molt_envs.families.grid_nav.boards import MOVES
from molt_envs.protocol.images import Observation, text_of


class Walker:
    """Takes a shortest way to each star as it appears.

    Args:
        way: gives the moves from where the agent stands to the star that is shown.
        seed: fixes its slips.
        noise: share of turns in which it takes any move.
    """

    def __init__(self, way: Callable[[], list[str]], seed: str, noise: float) -> None:
        self._way, self._rng, self._noise = way, random.Random(seed), noise

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The next action."""
        way = self._way()
        if not way or self._rng.random() < self._noise:
            return self._rng.choice([*MOVES])
        return way[0]


class Sweep:
    """Goes up and down the columns, from side to side, without looking."""

    def __init__(self, size: int) -> None:
        across = [*["down"] * (size - 1), "right", *["up"] * (size - 1), "right"]
        back = [move if move != "right" else "left" for move in across]
        half = (size + 1) // 2
        self._plan = [*across * half, *back * half]
        self._turn = 0

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The next action."""
        self._turn += 1
        return self._plan[(self._turn - 1) % len(self._plan)]


class Blind:
    """Reads the text alone: walks in a line for a few moves, and turns then and when a star was taken.

    Args:
        size: of the board.
        seed: fixes its turns.
    """

    def __init__(self, size: int, seed: int) -> None:
        self._rng, self._size = random.Random(seed), size
        self._move, self._left, self._told = "", 0, ""

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The next action."""
        told = text_of(observation).partition(".")[0]
        if self._left == 0 or told != self._told:
            others = [move for move in MOVES if move != self._move]
            self._move, self._left = self._rng.choice(others), self._rng.randint(1, self._size - 1)
        self._told = told
        self._left -= 1
        return self._move


class FirstPicture:
    """Takes the star of the first picture by the shortest way, then goes on like `then`, without looking.

    Args:
        way: moves to the first star.
        then: the policy after that.
    """

    def __init__(self, way: list[str], then: Blind) -> None:
        self._way, self._then, self._turn = way, then, 0

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The next action."""
        self._turn += 1
        if self._turn <= len(self._way):
            return self._way[self._turn - 1]
        return self._then.act(observation, info)
