"""Boards by name: a split and an index in; walls, the start and the places of the stars out.

Only the next star is ever drawn, so that a picture says nothing of the moves after the one to it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from molt_envs.protocol.images import Pixels
from molt_envs.tools.drawing import COLOURS, PAPERS, Canvas, tinted
from molt_envs.tools.questions import split_of

SPLITS = {"train": 20_000, "validation": 1000, "test": 1000}
MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
LEAST_CELL = 8.0
Cell: TypeAlias = tuple[int, int]
"""Row and column from the upper left corner."""


@dataclass(frozen=True)
class Setting:
    """What boards are like."""

    image_size: int = 112
    """Height and width of the picture in pixels."""
    board_size: int = 5
    """Cells along a side."""
    num_stars: int = 3
    """Stars to take, one after the other."""
    num_walls: int = 3
    """Cells that cannot be entered."""
    spare_moves: int = 3
    """Moves allowed beyond the shortest way through all stars."""

    def __post_init__(self) -> None:
        if self.board_size < 3 or self.num_stars < 1 or self.spare_moves < 0:
            raise ValueError(
                f"board_size {self.board_size}, num_stars {self.num_stars}, spare_moves {self.spare_moves}; "
                "at least 3, 1 and 0"
            )
        if not 0 <= self.num_walls <= self.board_size**2 // 3:
            raise ValueError(
                f"{self.num_walls} walls on a board of {self.board_size}; at most a third of its cells"
            )
        if self.image_size / self.board_size < LEAST_CELL:
            raise ValueError(
                f"{self.board_size} cells do not show in {self.image_size} pixels; {LEAST_CELL:g} each do"
            )

    @property
    def most_needed(self) -> int:
        """Moves of the longest task; boards with longer ways are not used."""
        return 2 * self.board_size * self.num_stars


@dataclass(frozen=True)
class Board:
    """One task."""

    size: int
    """Cells along a side."""
    walls: frozenset[Cell]
    """Cells that cannot be entered."""
    start: Cell
    """Where the agent begins."""
    stars: tuple[Cell, ...]
    """Where the stars appear, in order; never where the one before was."""
    look: int
    """Seed of the colours."""

    def moved(self, cell: Cell, move: str) -> Cell:
        """Where a move leads: nowhere if a wall or the edge is in the way."""
        row, column = cell[0] + MOVES[move][0], cell[1] + MOVES[move][1]
        inside = 0 <= row < self.size and 0 <= column < self.size
        return (row, column) if inside and (row, column) not in self.walls else cell

    def way(self, start: Cell, goal: Cell) -> list[str] | None:
        """The moves of a shortest way; None if there is none."""
        ways: dict[Cell, list[str]] = {start: []}
        queue = deque([start])
        while queue and goal not in ways:
            cell = queue.popleft()
            for move in MOVES:
                after = self.moved(cell, move)
                if after not in ways:
                    ways[after] = [*ways[cell], move]
                    queue.append(after)
        return ways.get(goal)

    def num_needed(self) -> int | None:
        """Moves of a shortest way through all stars; None if one cannot be reached."""
        ways = [self.way(*pair) for pair in zip((self.start, *self.stars), self.stars, strict=False)]
        return None if None in ways else sum(len(way or ()) for way in ways)

    def picture(self, agent: Cell, star: Cell | None, image_size: int) -> Pixels:
        """The board with the agent on it, and a star unless all are taken."""
        rng = random.Random(self.look)
        paper, frame = rng.choice(PAPERS), rng.choice(((150, 150, 156), (190, 190, 196)))
        wall, disc, goal = (tinted(COLOURS[name], rng) for name in _colours(rng))
        canvas, cell = Canvas((image_size, image_size), paper), image_size / self.size
        for row, column in sorted(self.walls):
            canvas.box((column * cell, row * cell), ((column + 1) * cell, (row + 1) * cell), wall)
        for number in range(self.size + 1):
            at = min(number * cell, image_size - 1)
            canvas.line([(at, 0), (at, image_size)], frame)
            canvas.line([(0, at), (image_size, at)], frame)
        for shape, place, colour in (("star", star, goal), ("circle", agent, disc)):
            if place is not None:
                centre = ((place[1] + 0.5) * cell, (place[0] + 0.5) * cell)
                canvas.shape(shape, centre, 0.34 * cell, colour, (35, 35, 40))
        return canvas.pixels()


def board(setting: Setting, split: str, index: int) -> Board:
    """The task of that number; the same in every process."""
    rng = random.Random(f"{split}:{index}")
    while True:
        drawn = _draw(setting, rng)
        parts = (sorted(drawn.walls), drawn.start, drawn.stars)
        if split_of(parts) == split and 0 < (drawn.num_needed() or 0) <= setting.most_needed:
            return drawn


def _draw(setting: Setting, rng: random.Random) -> Board:
    side = range(setting.board_size)
    cells = [(row, column) for row in side for column in side]
    walls = frozenset(rng.sample(cells, setting.num_walls))
    free = [cell for cell in cells if cell not in walls]
    places = [rng.choice(free)]
    for _ in range(setting.num_stars):
        places.append(rng.choice(_others(free, places[-1])))
    return Board(setting.board_size, walls, places[0], tuple(places[1:]), rng.getrandbits(32))


def _others(cells: Collection[Cell], left_out: Cell) -> list[Cell]:
    return [cell for cell in cells if cell != left_out]


def _colours(rng: random.Random) -> tuple[str, str, str]:
    """Names of three colours for walls, agent and star."""
    wall, disc, goal = rng.sample(sorted(COLOURS), 3)
    return wall, disc, goal
