"""Drawing: colours that can be told apart, shapes that differ, the same pixels again."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from molt_envs.tools.drawing import COLOURS, PAPERS, SHAPES, Canvas, Lettering, text_width, tinted

FEWEST_UNITS = 20
"""Distance in CIELAB; two colours that are 2.3 apart can just be told apart side by side."""
# Machado, Oliveira and Fernandes (2009), severity 1: how eyes that lack one kind of cone see linear RGB.
EYES = {
    "usual": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: tuple[int, int, int], eye: np.ndarray) -> np.ndarray:
    parts = np.array(colour) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    white = TO_XYZ @ np.ones(3)
    t = TO_XYZ @ np.clip(eye @ linear, 0, 1) / white
    x, y, z = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eye", EYES)
def test_no_two_colours_can_be_confused_nor_any_with_the_background(eye: str) -> None:
    backgrounds = {f"paper {number}": paper for number, paper in enumerate(PAPERS)}
    for (one, first), (two, second) in itertools.combinations({**COLOURS, **backgrounds}.items(), 2):
        if one in COLOURS:
            distance = np.linalg.norm(lab(first, EYES[eye]) - lab(second, EYES[eye]))
            assert distance > FEWEST_UNITS, (one, two, distance)


def test_a_tint_stays_near() -> None:
    rng = random.Random(0)
    for colour in COLOURS.values():
        shades = [tinted(colour, rng) for _ in range(50)]
        assert all(abs(a - b) <= 14 for shade in shades for a, b in zip(shade, colour, strict=True))
        assert len(set(shades)) > 10


def shape(name: str, angle: float = 0.0) -> np.ndarray:
    canvas = Canvas((30, 40))
    canvas.shape(name, (20, 15), 10, COLOURS["red"], COLOURS["black"], angle)
    return canvas.pixels()


def test_shapes_differ_and_are_drawn_alike_again() -> None:
    drawn = {name: shape(name) for name in SHAPES}
    assert all(one.shape == (30, 40, 3) and one.dtype == np.uint8 for one in drawn.values())
    assert len({one.tobytes() for one in drawn.values()}) == len(SHAPES)
    assert all((shape(name) == one).all() for name, one in drawn.items())
    assert (shape("star", 20) != drawn["star"]).any()


def test_shapes_are_about_equally_large() -> None:
    sizes = [int((shape(name) != 255).any(axis=2).sum()) for name in SHAPES]
    assert max(sizes) < 2.6 * min(sizes)


def test_text_is_drawn_where_it_is_said() -> None:
    canvas = Canvas((20, 60))
    lettering = Lettering(10)
    canvas.text((30, 10), "42\u00b0", lettering)
    dark = np.argwhere(canvas.pixels().min(axis=2) < 128)
    (top, left), (bottom, right) = dark.min(axis=0), dark.max(axis=0)
    assert abs((top + bottom) / 2 - 10) < 3 and abs((left + right) / 2 - 30) < 3
    assert abs(right - left + 1 - text_width("42\u00b0", lettering)) < 4
