"""Figures: drawn true to scale, so that the answer can be measured in the points; known answers."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from molt_envs.families.geometry import figures
from molt_envs.families.geometry.figures import HELD_OUT, TRAINED, Figure, Template
from molt_envs.families.geometry.problems import SPLITS, compute, problem
from molt_envs.families.geometry.sketch import draw

NUM_SAMPLES = 60
TEMPLATES = (*TRAINED, *HELD_OUT)


def measured(figure: Figure) -> float:
    """What is asked for, measured in the figure's points, in the units of the lengths that are written."""
    points = figure.points
    written = next(
        ((one, two, float(text)) for one, two, text in figure.lengths if text != "x"), (0, 1, math.nan)
    )
    unit = written[2] / math.dist(points[written[0]], points[written[1]])
    if figure.measure == "length":
        one, two = next((one, two) for one, two, text in figure.lengths if text == "x")
        return unit * math.dist(points[one], points[two])
    if figure.measure == "angle":
        return angle(figure, *next(marks[:3] for marks in figure.angles if marks[3] == "x"))
    num = max(max(line) for line in figure.lines if line[1] == 0) + 1
    ring = points[:num]
    doubled = sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in zip(ring, (*ring[1:], ring[0]), strict=True))
    return unit**2 * abs(doubled) / 2


def angle(figure: Figure, one: int, corner: int, two: int) -> float:
    x, y = figure.points[corner]
    turns = [math.atan2(figure.points[end][1] - y, figure.points[end][0] - x) for end in (one, two)]
    return abs((math.degrees(turns[1] - turns[0]) + 180) % 360 - 180)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.__name__)
def test_the_answer_can_be_measured_in_the_figure(template: Template) -> None:
    for seed in range(NUM_SAMPLES):
        figure = template(random.Random(seed))
        answer = compute(figure.expression)
        share = 0.03 if template is figures.fourth_angle else 0.003
        assert measured(figure) == pytest.approx(answer, rel=share), figure
        for one, corner, two, text in figure.angles:
            if text != "x":
                assert angle(figure, one, corner, two) == pytest.approx(float(text[:-1]), abs=0.51)
        for marks in figure.rights:
            assert angle(figure, *marks) == pytest.approx(90)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.__name__)
def test_the_expression_uses_nothing_but_what_is_written(template: Template) -> None:
    for seed in range(NUM_SAMPLES):
        figure = template(random.Random(seed))
        texts = [*(mark[2] for mark in figure.lengths), *(mark[3].rstrip("\u00b0") for mark in figure.angles)]
        numbers = "".join(char if char.isdigit() else " " for char in figure.expression).split()
        known = {*texts, "0", "2", "5", "180", "360"}  # and the numbers of the formulas
        assert {*numbers} <= known, figure


def test_known_answers() -> None:
    assert compute("(3**2 + 4**2) ** 0.5") == 5
    assert compute("2 * 10 * math.sin(math.radians(60) / 2)") == pytest.approx(10)
    assert compute("math.pi * 2**2 * 90 / 360") == pytest.approx(math.pi)


def test_test_problems_are_of_other_kinds() -> None:
    kinds = {split: {problem(split, index).kind for index in range(30)} for split in SPLITS}
    assert kinds["train"] == kinds["validation"] == {one.__name__ for one in TRAINED}
    assert kinds["test"] == {one.__name__ for one in HELD_OUT}


def test_train_and_validation_share_no_figure() -> None:
    found = {
        split: {
            (one.figure.expression, one.figure.lengths, one.figure.angles)
            for one in (problem(split, index) for index in range(600))
        }
        for split in ("train", "validation")
    }
    assert not found["train"] & found["validation"]


def test_the_text_names_no_number() -> None:
    for split in SPLITS:
        assert not any(char.isdigit() for index in range(40) for char in problem(split, index).question.text)


def test_a_tolerance_is_half_a_degree_or_a_hundredth() -> None:
    for index in range(30):
        one = problem("train", index)
        expected = 0.5 if one.figure.measure == "angle" else 0.01 * one.question.answer
        assert one.question.tolerance == pytest.approx(expected)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.__name__)
def test_a_figure_fits_into_its_picture_however_it_is_turned(template: Template) -> None:
    for look in range(12):
        pixels = draw(template(random.Random(look)), 224, look).astype(int)
        paper = pixels[0, 0]
        edge = np.concatenate([pixels[:3].reshape(-1, 3), pixels[-3:].reshape(-1, 3)])
        sides = np.concatenate([pixels[:, :3].reshape(-1, 3), pixels[:, -3:].reshape(-1, 3)])
        assert (edge == paper).all() and (sides == paper).all()
        assert 300 < (np.abs(pixels - paper).max(axis=2) > 60).sum() < 12_000
