"""Draws figures: a `Figure` in, turned, mirrored and fitted into a picture, pixels out."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from molt_envs.families.geometry.figures import Figure
from molt_envs.protocol.images import Pixels
from molt_envs.tools.drawing import COLOURS, INK, PAPERS, Canvas, Lettering, Point, tinted

UNITS = 224
MARGIN = 30.0
"""For a picture of 224 pixels; lengths scale with it."""
ARC, TEXT_IN_ANGLE, TEXT_BESIDE, SQUARE, TICK = 13.0, 27.0, 12.0, 9.0, 5.0


def draw(figure: Figure, image_size: int, look: int) -> Pixels:
    """The figure's picture.

    Args:
        figure: true to scale.
        image_size: height and width in pixels.
        look: seed of the angle, the mirroring, colours and lettering.
    """
    rng, unit = random.Random(look), image_size / UNITS
    canvas = Canvas((image_size, image_size), rng.choice(PAPERS))
    mirrored = rng.random() < 0.5
    places, scale = _fitted(figure, rng.uniform(0, 360), mirrored, image_size, MARGIN * unit)
    colour = rng.choice((INK, tinted(COLOURS["blue"], rng), tinted(COLOURS["red"], rng)))
    lettering = Lettering.draw(rng, 13 * unit)
    if figure.radius:
        canvas.disc(places[0], figure.radius * scale, None, colour, 1.5 * unit)
    for one, two in figure.lines:
        canvas.line([places[one], places[two]], colour, 1.8 * unit)
    for one, two in figure.ticked:
        middle, (dx, dy) = _middle(places[one], places[two]), _direction(places[one], places[two])
        reach = TICK * unit
        ends = [(middle[0] + side * reach * dy, middle[1] - side * reach * dx) for side in (-1, 1)]
        canvas.line(ends, colour, 1.5 * unit)
    for one, corner, two in figure.rights:
        canvas.line(_square(places[one], places[corner], places[two], SQUARE * unit), colour, unit)
    for one, corner, two, text in figure.angles:
        start, sweep = _turn(places[one], places[corner], places[two])
        low, high = min(start, start + sweep), max(start, start + sweep)
        canvas.arc(places[corner], ARC * unit, (low, high), colour, unit)
        half = math.radians(start + sweep / 2)
        reach = unit * TEXT_IN_ANGLE * (1.0 if abs(sweep) > 45 else 1.3)
        (x, y) = places[corner]
        canvas.text((x + reach * math.cos(half), y + reach * math.sin(half)), text, lettering)
    centre = _mean(places)
    for one, two, text in figure.lengths:
        canvas.text(_beside(places[one], places[two], centre, TEXT_BESIDE * unit), text, lettering)
    return canvas.pixels()


def _fitted(
    figure: Figure, angle: float, mirrored: bool, image_size: int, margin: float
) -> tuple[list[Point], float]:
    """Where the points lie in the picture, and pixels for each unit of the figure."""
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    turned = [
        ((-x if mirrored else x) * cos - y * sin, -((-x if mirrored else x) * sin + y * cos))
        for x, y in figure.points
    ]
    shown = [*turned]
    if figure.radius:
        x, y = turned[0]
        shown += [(x + figure.radius * dx, y + figure.radius * dy) for dx in (-1, 1) for dy in (-1, 1)]
    lows = [min(point[axis] for point in shown) for axis in (0, 1)]
    highs = [max(point[axis] for point in shown) for axis in (0, 1)]
    scale = (image_size - 2 * margin) / max(highs[0] - lows[0], highs[1] - lows[1])
    offsets = [image_size / 2 - scale * (lows[axis] + highs[axis]) / 2 for axis in (0, 1)]
    return [(offsets[0] + scale * x, offsets[1] + scale * y) for x, y in turned], scale


def _turn(one: Point, corner: Point, two: Point) -> tuple[float, float]:
    """The angle in degrees at which an angle starts, and how far it goes, by the shorter way."""
    start = math.degrees(math.atan2(one[1] - corner[1], one[0] - corner[0]))
    end = math.degrees(math.atan2(two[1] - corner[1], two[0] - corner[0]))
    return start, (end - start + 180) % 360 - 180


def _square(one: Point, corner: Point, two: Point, size: float) -> list[Point]:
    """The line that marks a right angle."""
    (ax, ay), (bx, by) = _direction(corner, one), _direction(corner, two)
    x, y = corner
    return [
        (x + size * ax, y + size * ay),
        (x + size * (ax + bx), y + size * (ay + by)),
        (x + size * bx, y + size * by),
    ]


def _beside(one: Point, two: Point, centre: Point, reach: float) -> Point:
    """Beside the middle of a line, on the side away from the centre."""
    (x, y), (dx, dy) = _middle(one, two), _direction(one, two)
    side = 1 if (x - centre[0]) * dy - (y - centre[1]) * dx >= 0 else -1
    return x + side * reach * dy, y - side * reach * dx


def _middle(one: Point, two: Point) -> Point:
    return (one[0] + two[0]) / 2, (one[1] + two[1]) / 2


def _direction(one: Point, two: Point) -> Point:
    length = math.dist(one, two)
    return (two[0] - one[0]) / length, (two[1] - one[1]) / length


def _mean(places: Sequence[Point]) -> Point:
    return sum(x for x, _ in places) / len(places), sum(y for _, y in places) / len(places)
