"""Figures: what is drawn and what is written beside it, with the way to compute what is asked for.

In: a random generator. Out: a `Figure` true to scale, whose measures stand in the picture alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from molt_envs.tools.drawing import Point

Measure = Literal["angle", "length", "area"]
ARC_STEPS = 32


@dataclass(frozen=True)
class Figure:
    """One figure in units of its own; y grows upwards."""

    measure: Measure
    """What is asked for."""
    points: tuple[Point, ...]
    """All that lines and labels lie at."""
    lines: tuple[tuple[int, int], ...]
    """Pairs of points."""
    expression: str
    """The Python expression that computes the answer from what the picture shows."""
    lengths: tuple[tuple[int, int, str], ...] = ()
    """Texts beside the lines between two points."""
    angles: tuple[tuple[int, int, int, str], ...] = ()
    """Texts in the angles at the second of three points, from the first round to the third."""
    rights: tuple[tuple[int, int, int], ...] = ()
    """Right angles, marked as such."""
    ticked: tuple[tuple[int, int], ...] = ()
    """Lines that are marked as equally long."""
    radius: float = 0.0
    """Of a circle around point 0; 0 for none."""


def third_angle(rng: random.Random) -> Figure:
    """Two angles of a triangle are given."""
    a, b = _angles(rng, 2, 180)
    points = _triangle(a, b)
    marks = ((1, 0, 2, _degrees(a)), (2, 1, 0, _degrees(b)), (0, 2, 1, "x"))
    return Figure("angle", points, _ring(3), f"180 - {a} - {b}", angles=marks)


def angles_on_a_line(rng: random.Random) -> Figure:
    """Rays from a point of a straight line; all angles but one are given."""
    given = _angles(rng, rng.choice((1, 2)), 180)
    turns = [0, *(sum(given[: place + 1]) for place in range(len(given))), 180]
    points = ((0.0, 0.0), *(_polar(10, turn) for turn in turns))
    marks = tuple((place + 1, 0, place + 2, text) for place, text in enumerate([*map(_degrees, given), "x"]))
    lines = tuple((0, place + 1) for place in range(len(turns)))
    return Figure("angle", points, lines, f"180 - {' - '.join(map(str, given))}", angles=marks)


def equal_sides(rng: random.Random) -> Figure:
    """The angle between two equal sides is given, one at the base is asked for."""
    top = rng.randrange(32, 110, 2)
    base = (180 - top) // 2
    marks = ((0, 2, 1, _degrees(top)), (1, 0, 2, "x"))
    points = _triangle(base, base)
    return Figure("angle", points, _ring(3), f"(180 - {top}) / 2", angles=marks, ticked=((0, 2), (1, 2)))


def fourth_angle(rng: random.Random) -> Figure:
    """Three angles of a figure with four corners are given."""
    while True:
        turns = [quarter + rng.randrange(0, 31) for quarter in (0, 90, 180, 270)]
        points = tuple(_polar(rng.uniform(8, 11), turn) for turn in turns)
        inner = [_inner(points, place) for place in range(4)]
        given = [round(angle) for angle in inner[:3]]
        if all(45 <= angle <= 135 for angle in (*inner, 360 - sum(given))):
            break
    texts = [*map(_degrees, given), "x"]
    marks = tuple(((place + 1) % 4, place, (place - 1) % 4, text) for place, text in enumerate(texts))
    return Figure("angle", points, _ring(4), f"360 - {given[0]} - {given[1]} - {given[2]}", angles=marks)


def right_triangle(rng: random.Random) -> Figure:
    """Two sides of a right triangle are given."""
    a, b = rng.randint(4, 20), rng.randint(4, 20)
    points = ((0.0, 0.0), (float(a), 0.0), (0.0, float(b)))
    right = ((1, 0, 2),)
    if rng.random() < 0.5 or max(a, b) > 2.2 * min(a, b):
        marks = ((0, 1, str(a)), (2, 0, str(b)), (1, 2, "x"))
        return Figure("length", points, _ring(3), f"({a}**2 + {b}**2) ** 0.5", lengths=marks, rights=right)
    long = math.ceil(math.hypot(a, b))
    points = ((0.0, 0.0), (float(a), 0.0), (0.0, math.sqrt(long**2 - a**2)))
    marks = ((0, 1, str(a)), (2, 0, "x"), (1, 2, str(long)))
    return Figure("length", points, _ring(3), f"({long}**2 - {a}**2) ** 0.5", lengths=marks, rights=right)


def two_sides_and_an_angle(rng: random.Random) -> Figure:
    """Two sides of a triangle and the angle between them are given; the third side is asked for."""
    a, b, angle = _two_sides(rng)
    points = ((0.0, 0.0), (float(a), 0.0), _polar(b, angle))
    expression = f"({a}**2 + {b}**2 - 2*{a}*{b}*math.cos(math.radians({angle}))) ** 0.5"
    lengths = ((0, 1, str(a)), (2, 0, str(b)), (1, 2, "x"))
    marks = ((1, 0, 2, _degrees(angle)),)
    return Figure("length", points, _ring(3), expression, lengths=lengths, angles=marks)


def side_and_two_angles(rng: random.Random) -> Figure:
    """A side of a triangle and the angles at its ends are given; another side is asked for."""
    a, b = _angles(rng, 2, 180)
    side = rng.randint(5, 20)
    expression = f"{side} * math.sin(math.radians({b})) / math.sin(math.radians(180 - {a} - {b}))"
    marks = ((1, 0, 2, _degrees(a)), (2, 1, 0, _degrees(b)))
    lengths = ((0, 1, str(side)), (2, 0, "x"))
    return Figure("length", _triangle(a, b), _ring(3), expression, lengths=lengths, angles=marks)


def chord(rng: random.Random) -> Figure:
    """The radius of a circle and the angle over a chord are given."""
    radius, angle = rng.randint(4, 20), rng.randrange(50, 151, 5)
    points = ((0.0, 0.0), (float(radius), 0.0), _polar(radius, angle))
    expression = f"2 * {radius} * math.sin(math.radians({angle}) / 2)"
    lengths, marks = ((0, 1, str(radius)), (1, 2, "x")), ((1, 0, 2, _degrees(angle)),)
    return Figure("length", points, _ring(3), expression, lengths, marks, radius=radius)


def triangle_area(rng: random.Random) -> Figure:
    """Two sides of a triangle and the angle between them."""
    a, b, angle = _two_sides(rng)
    points = ((0.0, 0.0), (float(a), 0.0), _polar(b, angle))
    expression = f"{a} * {b} * math.sin(math.radians({angle})) / 2"
    lengths, marks = ((0, 1, str(a)), (2, 0, str(b))), ((1, 0, 2, _degrees(angle)),)
    return Figure("area", points, _ring(3), expression, lengths, marks)


def trapezoid_area(rng: random.Random) -> Figure:
    """The parallel sides and the height."""
    a, b, height = rng.randint(10, 20), rng.randint(5, 9), rng.randint(5, 12)
    start = rng.uniform(0.5, a - b - 0.5)
    foot = start + b * 0.4
    points = ((0.0, 0.0), (float(a), 0.0), (start + b, float(height)), (start, float(height)))
    points = (*points, (foot, 0.0), (foot, float(height)))
    lengths = ((0, 1, str(a)), (2, 3, str(b)), (4, 5, str(height)))
    lines = (*_ring(4), (4, 5))
    return Figure("area", points, lines, f"({a} + {b}) * {height} / 2", lengths, rights=((1, 4, 5),))


def corner_area(rng: random.Random) -> Figure:
    """A rectangle from which a smaller one is cut at a corner."""
    width, height = rng.randint(8, 20), rng.randint(8, 20)
    top, side = rng.randint(3, width - 3), rng.randint(3, height - 3)
    corners = ((0, 0), (width, 0), (width, side), (top, side), (top, height), (0, height))
    points = tuple((float(x), float(y)) for x, y in corners)
    lengths = ((0, 1, str(width)), (1, 2, str(side)), (4, 5, str(top)), (5, 0, str(height)))
    rights = ((1, 0, 5), (2, 1, 0), (4, 5, 0))
    expression = f"{width} * {height} - ({width} - {top}) * ({height} - {side})"
    return Figure("area", points, _ring(6), expression, lengths, rights=rights)


def sector_area(rng: random.Random) -> Figure:
    """The radius and the angle of a piece of a disc."""
    radius, angle = rng.randint(4, 20), rng.randrange(40, 151, 5)
    arc = [_polar(radius, angle * step / ARC_STEPS) for step in range(ARC_STEPS + 1)]
    marks = ((1, 0, ARC_STEPS + 1, _degrees(angle)),)
    expression = f"math.pi * {radius}**2 * {angle} / 360"
    points, lengths = ((0.0, 0.0), *arc), ((0, 1, str(radius)),)
    return Figure("area", points, _ring(len(points)), expression, lengths, marks)


def three_sides_area(rng: random.Random) -> Figure:
    """The three sides of a triangle."""
    while True:
        a, b, c = (rng.randint(5, 20) for _ in range(3))
        cosine = (a * a + b * b - c * c) / (2 * a * b)
        if -0.6 < cosine < 0.8 and max(a, b, c) < 0.85 * (a + b + c - max(a, b, c)):
            break
    points = ((0.0, 0.0), (float(a), 0.0), (b * cosine, b * math.sqrt(1 - cosine**2)))
    half = f"({a} + {b} + {c}) / 2"
    expression = f"({half} * ({half} - {a}) * ({half} - {b}) * ({half} - {c})) ** 0.5"
    lengths = ((0, 1, str(a)), (2, 0, str(b)), (1, 2, str(c)))
    return Figure("area", points, _ring(3), expression, lengths)


Template = Callable[[random.Random], Figure]
TRAINED: tuple[Template, ...] = (
    *(third_angle, angles_on_a_line, equal_sides),
    *(right_triangle, two_sides_and_an_angle, side_and_two_angles),
    *(triangle_area, trapezoid_area, corner_area, sector_area),
)
HELD_OUT: tuple[Template, ...] = (fourth_angle, chord, three_sides_area)


def _ring(num: int) -> tuple[tuple[int, int], ...]:
    return tuple((place, (place + 1) % num) for place in range(num))


def _degrees(angle: float) -> str:
    return f"{angle:g}\u00b0"


def _polar(length: float, angle: float) -> Point:
    return length * math.cos(math.radians(angle)), length * math.sin(math.radians(angle))


def _triangle(a: float, b: float) -> tuple[Point, Point, Point]:
    """A triangle over a side of 10 with these angles at its ends."""
    reach = 10 * math.sin(math.radians(b)) / math.sin(math.radians(180 - a - b))
    return (0.0, 0.0), (10.0, 0.0), _polar(reach, a)


def _angles(rng: random.Random, num: int, total: int) -> list[int]:
    """Whole angles that leave one more below a total; none is too small for its text."""
    while True:
        found = [rng.randint(34, 110) for _ in range(num)]
        if total - sum(found) >= 34:
            return found


def _two_sides(rng: random.Random) -> tuple[int, int, int]:
    """Two sides, none much longer than the other, and the angle between them."""
    a = rng.randint(6, 20)
    return a, rng.randint(math.ceil(0.6 * a), math.floor(1.5 * a)), rng.randint(38, 120)


def _inner(points: tuple[Point, ...], place: int) -> float:
    """The angle inside at a corner, in degrees; corners go anticlockwise."""
    (x, y), (x1, y1) = points[place], points[(place + 1) % len(points)]
    x2, y2 = points[place - 1]
    return math.degrees(math.atan2(y2 - y, x2 - x) - math.atan2(y1 - y, x1 - x)) % 360
