"""Charts: where points are drawn, ticks, thinning."""

from __future__ import annotations

import math
import re

import pytest

from molt_train.monitor.svg import Series, line_chart, short_number, thin, ticks


def points(svg: str) -> list[tuple[float, float]]:
    found = re.search(r'<polyline points="([^"]*)"', svg)
    assert found is not None
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in found.group(1).split())]


def test_higher_values_are_drawn_higher_and_later_ones_to_the_right() -> None:
    drawn = points(line_chart([Series("a", [0, 1, 2], [1.0, 3.0, 2.0])]))
    assert drawn[0][0] < drawn[1][0] < drawn[2][0]
    assert drawn[1][1] < drawn[2][1] < drawn[0][1]


def test_what_is_not_finite_is_left_out() -> None:
    assert len(points(line_chart([Series("a", [0, 1, 2], [1.0, math.nan, 2.0])]))) == 2
    assert line_chart([Series("a", [0], [math.inf])]) == ""


def test_a_constant_and_a_single_point_can_be_drawn() -> None:
    for series in (Series("a", [1, 2], [5.0, 5.0]), Series("a", [3], [0.0])):
        assert all(0 < x < 360 and 0 < y < 190 for x, y in points(line_chart([series])))


def test_many_points_are_averaged() -> None:
    line = thin(Series("a", list(range(1000)), [float(x) for x in range(1000)]), max_points=10)
    assert len(line.ys) == 10 and line.ys[0] == 49.5 and line.ys[-1] == 949.5


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 100.0, [0, 20, 40, 60, 80, 100]),
        (-1.0, 1.0, [-1, -0.5, 0, 0.5, 1]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.25, "0.25"), (12345, "12.3k"), (2.5e6, "2.5M"), (5e-4, "5.0e-4"), (-3, "-3")],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert short_number(value) == text
