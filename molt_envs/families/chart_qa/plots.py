"""Draws charts: a `Chart` in, pixels out. Lengths are those of a picture of 224 pixels and scale with it."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from molt_envs.families.chart_qa.charts import Chart
from molt_envs.protocol.images import Pixels
from molt_envs.tools.drawing import COLOURS, INK, PAPERS, Canvas, Colour, Lettering, Point, text_width, tinted

UNITS = 224
LEFT, RIGHT, UPPER, LOWER = 36.0, 210.0, 32.0, 196.0
"""Where the axes lie."""
NUM_TICKS = 5
GREY: Colour = (196, 196, 202)


class Plot:
    """One chart's picture.

    Args:
        chart: what is drawn.
        image_size: height and width in pixels.
    """

    def __init__(self, chart: Chart, image_size: int) -> None:
        self._chart, self._unit = chart, image_size / UNITS
        self._rng = random.Random(chart.look)
        self._canvas = Canvas((image_size, image_size), self._rng.choice(PAPERS))
        self._small = self._lettering(11.5)
        names = sorted(COLOURS)
        self._rng.shuffle(names)
        self._colours = [tinted(COLOURS[name], self._rng) for name in names]

    def pixels(self) -> Pixels:
        """The finished picture."""
        place = self._rng.choice(((UNITS / 2, "mm"), (LEFT, "lm")))
        self._text((place[0], 14), self._chart.title, self._lettering(14), place[1])
        draw = {"bar": self._bars, "line": self._line, "pie": self._pie, "table": self._table}
        draw[self._chart.kind]()
        return self._canvas.pixels()

    def _bars(self) -> None:
        upright = self._rng.random() < 0.7
        has_grid = self._rng.random() < 0.7
        num, share = len(self._chart.labels), self._rng.uniform(0.5, 0.75)
        colours = self._colours if self._rng.random() < 0.4 else self._colours[:1]
        low, high = (LEFT, RIGHT) if upright else (UPPER, LOWER)
        self._axis(upright, has_grid)
        lettering = self._fitting((high - low) / num - 3 if upright else LEFT - 6)
        for number, (label, value) in enumerate(zip(self._chart.labels, self._chart.first, strict=True)):
            step = (high - low) / num
            middle, half = low + (number + 0.5) * step, step * share / 2
            end = self._at(value, upright)
            if upright:
                one, two = (middle - half, end), (middle + half, LOWER)
                self._text((middle, LOWER + 10), label, lettering)
            else:
                one, two = (LEFT, middle - half), (end, middle + half)
                self._text((LEFT - 4, middle), label, lettering, "rm")
            self._canvas.box(self._up(one), self._up(two), colours[number % len(colours)], INK)

    def _line(self) -> None:
        self._axis(upright=True, has_grid=self._rng.random() < 0.7)
        step = (RIGHT - LEFT) / len(self._chart.labels)
        points = [
            (LEFT + (number + 0.5) * step, self._at(value, True))
            for number, value in enumerate(self._chart.first)
        ]
        colour, lettering = self._colours[0], self._fitting(step - 3)
        self._canvas.line([self._up(point) for point in points], colour, 2 * self._unit)
        marker = self._rng.choice(("circle", "square"))
        for label, point in zip(self._chart.labels, points, strict=True):
            self._canvas.shape(marker, self._up(point), 3.2 * self._unit, colour, INK)
            self._text((point[0], LOWER + 10), label, lettering)

    def _pie(self) -> None:
        has_legend = self._rng.random() < 0.5
        centre, radius = ((80.0, 124.0), 66.0) if has_legend else ((112.0, 122.0), 62.0)
        angle = self._rng.uniform(0, 360)
        for number, (label, share) in enumerate(zip(self._chart.labels, self._chart.first, strict=True)):
            end, colour = angle + 3.6 * share, self._colours[number]
            self._canvas.slice(self._up(centre), radius * self._unit, (angle, end), colour, INK)
            if has_legend:
                top = 70 + 22 * number
                self._canvas.box(self._up((160, top)), self._up((170, top + 10)), colour, INK)
                self._text((176, top + 5), label, self._small, "lm")
            else:
                turn, reach = math.radians((angle + end) / 2), radius + 21
                place = (centre[0] + reach * math.cos(turn), centre[1] + 0.92 * reach * math.sin(turn))
                self._text(place, label, self._small)
            angle = end

    def _table(self) -> None:
        rows, columns = len(self._chart.labels) + 1, len(self._chart.columns) + 1
        left, width, height = 12.0, 200.0 / columns, self._rng.uniform(24, 30)
        shaded = self._rng.random() < 0.5
        if shaded:
            self._canvas.box(self._up((left, UPPER)), self._up((left + 200, UPPER + height)), GREY)
        for row in range(rows + 1):
            y = UPPER + row * height
            self._canvas.line([self._up((left, y)), self._up((left + 200, y))], INK, self._unit)
        lines = (
            ("", *self._chart.columns),
            *(
                (label, *map(str, values))
                for label, values in zip(self._chart.labels, self._chart.values, strict=True)
            ),
        )
        for row, cells in enumerate(lines):
            for column, text in enumerate(cells):
                place = (left + (column + 0.5) * width, UPPER + (row + 0.5) * height)
                self._text(place, text, self._small)

    def _axis(self, upright: bool, has_grid: bool) -> None:
        """Ticks with their numbers, the axes, and lines across where the chart has them."""
        for tick in range(NUM_TICKS + 1):
            value = self._chart.top * tick // NUM_TICKS
            at = self._at(value, upright)
            if upright:
                ends, place, anchor = ((LEFT, at), (RIGHT, at)), (LEFT - 6, at), "rm"
                mark = ((LEFT - 4, at), (LEFT, at))
            else:
                ends, place, anchor = ((at, UPPER), (at, LOWER)), (at, LOWER + 11), "mm"
                mark = ((at, LOWER), (at, LOWER + 4))
            if has_grid:
                self._canvas.line([*map(self._up, ends)], GREY, self._unit)
            self._canvas.line([*map(self._up, mark)], INK, self._unit)
            self._text(place, str(value), self._small, anchor)
        corner = [(LEFT, UPPER), (LEFT, LOWER), (RIGHT, LOWER)]
        self._canvas.line([self._up(point) for point in corner], INK, self._unit)

    def _at(self, value: float, upright: bool) -> float:
        """Where a value lies on the axis."""
        part = value / self._chart.top
        return LOWER - part * (LOWER - UPPER) if upright else LEFT + part * (RIGHT - LEFT)

    def _fitting(self, width: float) -> Lettering:
        """Lettering in which every label is at most so wide."""
        widest = max(text_width(label, self._small) for label in self._chart.labels) / self._unit
        return replace(self._small, size=self._small.size * min(1.0, width / widest))

    def _lettering(self, size: float) -> Lettering:
        return Lettering.draw(self._rng, size * self._unit)

    def _text(self, place: Point, text: str, lettering: Lettering, anchor: str = "mm") -> None:
        self._canvas.text(self._up(place), text, lettering, INK, anchor)

    def _up(self, point: Point) -> Point:
        return point[0] * self._unit, point[1] * self._unit
