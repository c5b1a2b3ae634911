"""Pairs of boards by name: a split and an index in; two boards, a question about them and a picture out.

How many cells differ, or which one does, is drawn first, evenly.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from molt_envs.protocol.images import Pixels
from molt_envs.tools.drawing import COLOURS, INK, PAPERS, SHAPES, Canvas, tinted
from molt_envs.tools.questions import Priors, Question, split_of

SPLITS = {"train": 20_000, "validation": 1000, "test": 1000}
KINDS = ("count", "where")
EMPTY_SHARE = 0.15
LEAST_CELL = 14.0
NUM_KNOWN = 1000
Thing: TypeAlias = "tuple[str, str] | None"
"""Shape and colour in a cell; None for an empty one."""


@dataclass(frozen=True)
class Setting:
    """What pairs are like."""

    image_size: int = 112
    """Height of the picture in pixels; it is twice as wide."""
    board_size: int = 4
    """Cells along a side of a board."""
    max_differences: int = 6
    """Most cells that differ, where they are counted; at least 1 does."""
    kinds: tuple[str, ...] = KINDS
    """What is asked: how many cells differ (`count`), or which one does (`where`)."""

    def __post_init__(self) -> None:
        if not self.kinds or {*self.kinds} - {*KINDS}:
            raise ValueError(f"kinds {self.kinds}; choose from {', '.join(KINDS)}")
        if not 2 <= self.max_differences <= self.board_size**2:
            raise ValueError(
                f"{self.max_differences} differences in {self.board_size**2} cells; 2 to as many as there are"
            )
        if (self.image_size - 2 * MARGIN) / self.board_size < LEAST_CELL:
            raise ValueError(
                f"{self.board_size} cells do not show in {self.image_size} pixels; {LEAST_CELL:g} each do"
            )


MARGIN = 4.0
"""Pixels around a board."""


@dataclass(frozen=True)
class Pair:
    """One task."""

    left: tuple[Thing, ...]
    """The cells of the left board, row by row."""
    right: tuple[Thing, ...]
    """Those of the right one."""
    question: Question
    """What is asked."""
    look: int
    """Seed of sizes, shades and the background."""

    def picture(self, setting: Setting) -> Pixels:
        """Both boards, drawn."""
        rng = random.Random(self.look)
        size, num = setting.image_size, setting.board_size
        canvas = Canvas((size, 2 * size), rng.choice(PAPERS))
        cell = (size - 2 * MARGIN) / num
        frame, radius = rng.choice((INK, (120, 120, 128))), cell * rng.uniform(0.3, 0.38)
        shades = {name: tinted(colour, rng) for name, colour in sorted(COLOURS.items())}
        has_lines = rng.random() < 0.5
        for number, things in enumerate((self.left, self.right)):
            left = MARGIN + number * size
            for line in range(num + 1) if has_lines else (0, num):
                at = line * cell
                canvas.line([(left + at, MARGIN), (left + at, size - MARGIN)], frame)
                canvas.line([(left, MARGIN + at), (left + num * cell, MARGIN + at)], frame)
            for place, thing in enumerate(things):
                if thing is not None:
                    row, column = divmod(place, num)
                    centre = (left + (column + 0.5) * cell, MARGIN + (row + 0.5) * cell)
                    canvas.shape(thing[0], centre, radius, shades[thing[1]], INK)
        return canvas.pixels()


def pair(setting: Setting, split: str, index: int) -> Pair:
    """The task of that number; the same in every process."""
    rng = random.Random(f"{split}:{index}")
    while True:
        drawn = _draw(setting, rng)
        if split_of((drawn.question.text, drawn.left, drawn.right)) == split:
            return drawn


@lru_cache(maxsize=8)
def priors(setting: Setting) -> Priors:
    """What the training tasks tell of the answers."""
    return Priors([pair(setting, "train", index).question for index in range(NUM_KNOWN)])


def _draw(setting: Setting, rng: random.Random) -> Pair:
    num_cells, kind = setting.board_size**2, rng.choice(setting.kinds)
    left = [_thing(rng) for _ in range(num_cells)]
    if kind == "count":
        places = rng.sample(range(num_cells), rng.randint(1, setting.max_differences))
        question = Question("In how many cells do the two boards differ?", len(places), kind)
    else:
        places = [rng.randrange(num_cells)]
        text = (
            "The two boards differ in one cell. Which one? Count the cells from 1, row by row from the top."
        )
        question = Question(text, places[0] + 1, kind)
    right = list(left)
    for place in places:
        while right[place] == left[place]:
            right[place] = _changed(left[place], rng)
    return Pair(tuple(left), tuple(right), question, rng.getrandbits(32))


def _thing(rng: random.Random) -> Thing:
    return None if rng.random() < EMPTY_SHARE else (rng.choice(SHAPES), rng.choice(sorted(COLOURS)))


def _changed(thing: Thing, rng: random.Random) -> Thing:
    """Another colour, another shape, or nothing where something was and the reverse."""
    if thing is None:
        return rng.choice(SHAPES), rng.choice(sorted(COLOURS))
    shape, colour = thing
    other_shape, other_colour = rng.choice(SHAPES), rng.choice(sorted(COLOURS))
    return rng.choice(((shape, other_colour), (other_shape, colour), None))
