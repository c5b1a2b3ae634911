"""Scenes by name: a split and an index in; shapes, a question and a picture out.

How many shapes are asked for is drawn first, evenly, and nothing else depends on it.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import lru_cache

from molt_envs.protocol.images import Pixels
from molt_envs.tools.drawing import COLOURS, INK, PAPERS, SHAPES, Canvas, tinted
from molt_envs.tools.questions import Priors, Question, split_of

SPLITS = {"train": 20_000, "validation": 1000, "test": 1000}
LEAST_RADIUS = 3.5
NUM_KNOWN = 1000


@dataclass(frozen=True)
class Setting:
    """What scenes are like."""

    image_size: int = 112
    """Height and width in pixels."""
    max_count: int = 8
    """Most shapes that are counted; at least 1 is."""
    max_others: int = 6
    """Most shapes that are not."""
    kinds: tuple[str, ...] = ("colour", "shape", "both")
    """What questions name."""

    def __post_init__(self) -> None:
        unknown = sorted({*self.kinds} - {"colour", "shape", "both"})
        if unknown or not self.kinds:
            raise ValueError(f"kinds {self.kinds}; choose from 'colour', 'shape' and 'both'")
        if self.max_count < 2 or self.max_others < 0:
            raise ValueError(
                f"max_count {self.max_count}, max_others {self.max_others}; at least 2 and at least 0"
            )
        if self.cell / 2 - 1 < LEAST_RADIUS:
            most = self.image_size // (2 * math.ceil(LEAST_RADIUS + 1))
            raise ValueError(
                f"{self.max_count + self.max_others} shapes do not fit into {self.image_size} pixels; "
                f"at most {most**2} do, or raise image_size"
            )

    @property
    def num_cells(self) -> int:
        """Places for shapes along a side."""
        return math.ceil(math.sqrt(self.max_count + self.max_others))

    @property
    def cell(self) -> float:
        """Width of a place in pixels."""
        return self.image_size / self.num_cells


@dataclass(frozen=True)
class Thing:
    """One shape."""

    shape: str
    """One of `SHAPES`."""
    colour: str
    """One of `COLOURS`."""
    place: int
    """Which cell it lies in, row by row."""


@dataclass(frozen=True)
class Scene:
    """One task."""

    things: tuple[Thing, ...]
    """Everything that is shown."""
    question: Question
    """What is asked."""
    look: int
    """Seed of sizes, angles, shades and the background."""

    def picture(self, setting: Setting) -> Pixels:
        """The scene, drawn."""
        rng = random.Random(self.look)
        size = setting.image_size
        canvas = Canvas((size, size), rng.choice(PAPERS))
        outline = rng.choice((INK, (90, 90, 96)))
        shades = {name: tinted(colour, rng) for name, colour in sorted(COLOURS.items())}
        for thing in self.things:
            most = setting.cell / 2 - 1
            radius = rng.uniform(max(LEAST_RADIUS, 0.62 * most), most * 0.9)
            slack = (most - radius) * 0.9
            row, column = divmod(thing.place, setting.num_cells)
            centre = (
                (column + 0.5) * setting.cell + rng.uniform(-slack, slack),
                (row + 0.5) * setting.cell + rng.uniform(-slack, slack),
            )
            canvas.shape(
                thing.shape, centre, radius, shades[thing.colour], outline, angle=rng.uniform(-20, 20)
            )
        return canvas.pixels()


def scene(setting: Setting, split: str, index: int) -> Scene:
    """The task of that number; the same in every process."""
    rng = random.Random(f"{split}:{index}")
    while True:
        drawn = _draw(setting, rng)
        if split_of((drawn.question.text, *drawn.things)) == split:
            return drawn


@lru_cache(maxsize=8)
def priors(setting: Setting) -> Priors:
    """What the training tasks tell of the answers."""
    return Priors([scene(setting, "train", index).question for index in range(NUM_KNOWN)])


def _draw(setting: Setting, rng: random.Random) -> Scene:
    kind = rng.choice(setting.kinds)
    shape = rng.choice(SHAPES) if kind != "colour" else None
    colour = rng.choice(sorted(COLOURS)) if kind != "shape" else None
    count = rng.randint(1, setting.max_count)
    every = [(one, other) for one in SHAPES for other in sorted(COLOURS)]
    wanted = [pair for pair in every if pair[0] == (shape or pair[0]) and pair[1] == (colour or pair[1])]
    rest = [pair for pair in every if pair not in wanted]
    pairs = [rng.choice(wanted) for _ in range(count)]
    pairs += [rng.choice(rest) for _ in range(rng.randint(0, setting.max_others))]
    places = rng.sample(range(setting.num_cells**2), len(pairs))
    things = sorted((Thing(*pair, place) for pair, place in zip(pairs, places, strict=True)), key=_place)
    named = " ".join(part for part in (colour, f"{shape}s" if shape else "shapes") if part)
    question = Question(f"How many {named} are there?", count, kind)
    return Scene(tuple(things), question, rng.getrandbits(32))


def _place(thing: Thing) -> int:
    return thing.place
