"""Drawing small pictures with Pillow: a canvas with soft edges, colours that nobody confuses, and shapes.

In: places and sizes in pixels of the finished picture. Out: (height, width, 3) uint8. The font is the one
that Pillow itself ships.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from molt_envs.protocol.images import Pixels

Colour: TypeAlias = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""
Point: TypeAlias = tuple[float, float]
"""Pixels from the left and from the top."""

COLOURS: dict[str, Colour] = {
    "black": (30, 30, 34),
    "blue": (0, 90, 200),
    "green": (60, 185, 125),
    "red": (200, 30, 30),
    "yellow": (252, 214, 20),
}
"""By the names that questions use; far apart for eyes that do not tell red from green too."""
SHAPES = ("circle", "square", "star", "triangle")
PAPERS: tuple[Colour, ...] = (
    (255, 255, 255),
    (250, 246, 238),
    (238, 241, 250),
    (242, 246, 240),
    (228, 230, 234),
)
"""Backgrounds, all light."""
INK: Colour = (35, 35, 40)
SCALE = 3
"""Pictures are drawn this many times larger, and then made smaller."""
_POINTS = {"star": 10, "triangle": 3, "square": 4}


@dataclass(frozen=True, slots=True)
class Lettering:
    """How text looks in one picture."""

    size: float = 11.0
    """Height in pixels."""
    weight: float = 0.0
    """Pixels by which strokes are thicker."""

    @staticmethod
    def draw(rng: random.Random, size: float) -> Lettering:
        """Lettering near a size, plain or bold."""
        return Lettering(size * rng.uniform(0.92, 1.08), rng.choice((0.0, 0.0, 0.35)))


class Canvas:
    """A picture that is being drawn.

    Args:
        size: height and width in pixels.
        paper: colour of the background.
    """

    def __init__(self, size: tuple[int, int], paper: Colour = PAPERS[0]) -> None:
        height, width = size
        self._image = Image.new("RGB", (width * SCALE, height * SCALE), paper)
        self._draw = ImageDraw.Draw(self._image)

    def pixels(self) -> Pixels:
        """The finished picture."""
        return np.asarray(self._image.reduce(SCALE), dtype=np.uint8)

    def polygon(
        self, points: Sequence[Point], fill: Colour | None, outline: Colour | None = None, width: float = 1
    ) -> None:
        """A closed figure."""
        scaled = [_up(point) for point in points]
        if fill is not None:
            self._draw.polygon(scaled, fill=fill)
        if outline is not None:
            self._draw.line([*scaled, *scaled[:2]], outline, round(width * SCALE), joint="curve")

    def box(
        self, low: Point, high: Point, fill: Colour | None, outline: Colour | None = None, width: float = 1
    ) -> None:
        """A rectangle from its upper left to its lower right corner."""
        line = round(width * SCALE) if outline else 0
        self._draw.rectangle((*_up(low), *_up(high)), fill, outline, line)

    def line(self, points: Sequence[Point], colour: Colour, width: float = 1) -> None:
        """A line through points."""
        self._draw.line([_up(point) for point in points], colour, round(width * SCALE), joint="curve")

    def disc(
        self,
        centre: Point,
        radius: float,
        fill: Colour | None,
        outline: Colour | None = None,
        width: float = 1,
    ) -> None:
        """A circle."""
        (x, y), r = _up(centre), radius * SCALE
        line = round(width * SCALE) if outline else 0
        self._draw.ellipse((x - r, y - r, x + r, y + r), fill, outline, line)

    def slice(self, centre: Point, radius: float, angles: Point, fill: Colour, outline: Colour) -> None:
        """A slice of a pie between two angles in degrees, clockwise from the right."""
        (x, y), r = _up(centre), radius * SCALE
        self._draw.pieslice((x - r, y - r, x + r, y + r), *angles, fill, outline, SCALE)

    def arc(self, centre: Point, radius: float, angles: Point, colour: Colour, width: float = 1) -> None:
        """A piece of a circle's edge between two angles in degrees, clockwise from the right."""
        (x, y), r = _up(centre), radius * SCALE
        self._draw.arc((x - r, y - r, x + r, y + r), *angles, colour, round(width * SCALE))

    def text(
        self, place: Point, text: str, lettering: Lettering, colour: Colour = INK, anchor: str = "mm"
    ) -> None:
        """Text whose anchor, as Pillow names it, lies at a place; `mm` is its middle."""
        font = _font(round(lettering.size * SCALE))
        stroke = round(lettering.weight * SCALE)
        self._draw.text(_up(place), text, colour, font, anchor, stroke_width=stroke)

    def shape(
        self, name: str, centre: Point, radius: float, fill: Colour, outline: Colour, angle: float = 0.0
    ) -> None:
        """One of `SHAPES`, turned by an angle in degrees."""
        if name == "circle":
            self.disc(centre, radius, fill, outline)
            return
        self.polygon(_corners(name, centre, radius, angle), fill, outline)


def text_width(text: str, lettering: Lettering) -> float:
    """How wide a text will be, in pixels."""
    return _font(round(lettering.size * SCALE)).getlength(text) / SCALE


def tinted(colour: Colour, rng: random.Random, most: int = 14) -> Colour:
    """A colour a little lighter or darker."""
    by = rng.randint(-most, most)
    red, green, blue = (min(255, max(0, part + by)) for part in colour)
    return red, green, blue


def _corners(name: str, centre: Point, radius: float, angle: float) -> list[Point]:
    num = _POINTS[name]
    start = angle + (-45 if name == "square" else -90)
    found: list[Point] = []
    for corner in range(num):
        turn = math.radians(start + corner * 360 / num)
        reach = radius * (0.45 if name == "star" and corner % 2 else 1.1)
        found.append((centre[0] + reach * math.cos(turn), centre[1] + reach * math.sin(turn)))
    return found


def _up(point: Point) -> Point:
    return point[0] * SCALE, point[1] * SCALE


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return font
