"""Line charts as SVG, in the colours of the page. In: series of points. Out: one `<svg>` element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

_WIDTH, _HEIGHT = 360, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 10, 24
_MAX_POINTS = 400
_COLOURS = ("var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)")


@dataclass(frozen=True)
class Series:
    """One line; the lists have one length."""

    label: str
    """For the legend."""
    xs: Sequence[float]
    """Positions, rising."""
    ys: Sequence[float]
    """Values; points that are not finite are left out."""
    intervals: Sequence[tuple[float, float]] = ()
    """Lower and upper ends, drawn as bars; empty for none."""


def line_chart(series: Sequence[Series], percent: bool = False, name: str = "") -> str:
    """A chart of 1 to 4 series; `name` is what a screen reader says. Empty when nothing is finite."""
    thinned = [thin(line) for line in series]
    ys = [y for line in thinned for y in (*line.ys, *(end for pair in line.intervals for end in pair))]
    xs = [x for line in thinned for x in line.xs]
    if not xs:
        return ""
    x_range, y_range = _pad(min(xs), max(xs), 0.0), _pad(min(ys), max(ys), 0.06)
    if percent:
        y_range = (max(y_range[0], 0.0), min(y_range[1], 1.0)) if max(ys) > min(ys) else (0.0, 1.0)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(name, quote=True)}">',
        *_grid(x_range, y_range, percent),
    ]
    for line, colour in zip(thinned, _COLOURS, strict=False):
        parts += _line(line, colour, x_range, y_range, percent)
    return "".join([*parts, "</svg>"])


def thin(line: Series, max_points: int = _MAX_POINTS) -> Series:
    """Finite points only, and at most `max_points`, averaged over neighbours; intervals are never thinned."""
    kept = [index for index, y in enumerate(line.ys) if math.isfinite(y)]
    xs, ys = [line.xs[index] for index in kept], [line.ys[index] for index in kept]
    if line.intervals or len(xs) <= max_points:
        return Series(line.label, xs, ys, [line.intervals[index] for index in kept] if line.intervals else ())
    edges = [index * len(xs) // max_points for index in range(max_points + 1)]
    spans = list(pairwise(edges))
    return Series(
        line.label,
        [sum(xs[a:b]) / (b - a) for a, b in spans],
        [sum(ys[a:b]) / (b - a) for a, b in spans],
    )


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round values between `low` and `high`, about `count` of them."""
    span = high - low
    raw = span / (count + 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def short_number(value: float) -> str:
    """A label of few characters."""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.3g}M"
    if size >= 1e4:
        return f"{value / 1e3:.3g}k"
    if size and size < 1e-3:
        return f"{value:.1e}".replace("e-0", "e-")
    return f"{value:.4g}"


def _pad(low: float, high: float, share: float) -> tuple[float, float]:
    if high == low:
        half = abs(high) * 0.1 or 0.5
        return low - half, high + half
    return low - (high - low) * share, high + (high - low) * share


def _x(value: float, span: tuple[float, float]) -> float:
    return _LEFT + (value - span[0]) / (span[1] - span[0]) * (_WIDTH - _LEFT - _RIGHT)


def _y(value: float, span: tuple[float, float]) -> float:
    return _HEIGHT - _BOTTOM - (value - span[0]) / (span[1] - span[0]) * (_HEIGHT - _TOP - _BOTTOM)


def _label(value: float, percent: bool) -> str:
    return f"{value * 100:.3g}%" if percent else short_number(value)


def _grid(x_range: tuple[float, float], y_range: tuple[float, float], percent: bool) -> list[str]:
    parts: list[str] = []
    for tick in ticks(*y_range):
        y = _y(tick, y_range)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text x="{_LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{_label(tick, percent)}</text>'
        )
    for tick in ticks(*x_range, count=5):
        if float(tick).is_integer():
            x = _x(tick, x_range)
            parts.append(
                f'<text x="{x:.1f}" y="{_HEIGHT - 7}" text-anchor="middle">{short_number(tick)}</text>'
            )
    return parts


def _line(
    line: Series, colour: str, x_range: tuple[float, float], y_range: tuple[float, float], percent: bool
) -> list[str]:
    points = [(_x(x, x_range), _y(y, y_range)) for x, y in zip(line.xs, line.ys, strict=True)]
    if not points:
        return []
    parts: list[str] = []
    for (x, _), (low, high) in zip(points, line.intervals, strict=False):
        top, bottom = _y(min(high, y_range[1]), y_range), _y(max(low, y_range[0]), y_range)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" '
            f'style="stroke:{colour}" opacity=".5"/>'
        )
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts.append(f'<polyline points="{path}" style="stroke:{colour}"/>')
    if len(points) <= 60:
        for (px, py), x, y in zip(points, line.xs, line.ys, strict=True):
            told = f"step {short_number(x)}: {_label(y, percent)}"
            parts.append(
                f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.2" style="fill:{colour}">'
                f"<title>{told}</title></circle>"
            )
    return parts
