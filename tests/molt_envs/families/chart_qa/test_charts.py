"""Charts: each question computed again from the numbers, and the numbers found again in the pixels."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from molt_envs.families.chart_qa.charts import KINDS, SPLITS, Chart, chart
from molt_envs.families.chart_qa.env import ChartQAEnv
from molt_envs.families.chart_qa.plots import Plot

NUM_SAMPLES = 600


def expected(one: Chart) -> tuple[float, float]:
    """Answer and tolerance, worked out from the text and the numbers."""
    text = one.question.text
    rows = {label: row for label, row in zip(one.labels, one.values, strict=True)}
    named = sorted((label for label in rows if re.search(rf"\b{label}\b", text)), key=text.index)
    column = next((place for place, name in enumerate(one.columns) if name and f" {name}" in text), 0)
    numbers = [row[column] for row in one.values]
    one_reading, two_readings = {"pie": (3.0, 3.0), "table": (0.0, 0.0)}.get(
        one.kind, (0.03 * one.top, 0.04 * one.top)
    )
    if text.startswith("How many values are above"):
        return sum(number > int(text.rstrip("?").rpartition(" ")[2]) for number in numbers), 0.0
    if "largest" in text or "smallest" in text:
        return (max(numbers) if "largest" in text else min(numbers)), one_reading
    if "How far apart" in text:
        return abs(rows[named[0]][column] - rows[named[1]][column]), two_readings
    if " not " in text:
        return 100 - rows[named[0]][0], one_reading
    if "all numbers of" in text:
        return (sum(rows[named[0]]) if named else sum(numbers)), 0.0
    if "together" in text:
        return rows[named[0]][0] + rows[named[1]][0], two_readings
    return rows[named[0]][column], one_reading


@pytest.mark.parametrize("split", SPLITS)
def test_every_answer_follows_from_the_numbers(split: str) -> None:
    for index in range(NUM_SAMPLES):
        one = chart(KINDS, split, index)
        assert (one.question.answer, one.question.tolerance) == pytest.approx(expected(one)), one


def test_all_kinds_of_charts_and_of_questions_come_up() -> None:
    kinds = Counter(chart(KINDS, "train", index).question.kind for index in range(NUM_SAMPLES))
    charts = Counter(kind.partition(" ")[0] for kind in kinds.elements())
    assert set(charts) == set(KINDS) and min(charts.values()) > 0.15 * NUM_SAMPLES
    assert len(kinds) == 2 * 6 + 3 + 5


def test_a_pie_makes_a_hundred_and_has_no_slice_that_cannot_be_seen() -> None:
    for index in range(200):
        shares = chart(("pie",), "train", index).first
        assert sum(shares) == 100 and min(shares) >= 6


def test_splits_share_no_chart() -> None:
    found = {
        split: {
            (one.labels, one.values, one.question.text)
            for one in (chart(KINDS, split, i) for i in range(500))
        }
        for split in SPLITS
    }
    assert not found["train"] & found["test"] and not found["validation"] & found["test"]
    assert not found["train"] & found["validation"]


def test_a_slice_covers_its_share_of_the_pie() -> None:
    one = replace(
        chart(("pie",), "train", 0), labels=("Jan", "Feb", "Mar"), values=((50,), (30,), (20,)), look=7
    )
    pixels = Plot(one, 448).pixels().reshape(-1, 3)
    colours, counts = np.unique(pixels, axis=0, return_counts=True)
    most = np.argsort(counts)[::-1][:4]
    slices = sorted((int(counts[place]) for place in most if colours[place].min() < 225), reverse=True)[:3]
    assert np.allclose(np.array(slices) / sum(slices), [0.5, 0.3, 0.2], atol=0.02)


@pytest.mark.parametrize("kind", ["bar", "line"])
def test_a_value_moves_the_picture_more_than_the_tolerance_hides(kind: str) -> None:
    one = chart((kind,), "train", 1)
    low = tuple((value,) for value in (one.top // 5,) * len(one.labels))
    high = ((one.top // 5 + one.top // 25 + 1,), *low[1:])
    pictures = [Plot(replace(one, values=values), 224).pixels().astype(int) for values in (low, high)]
    rows, columns = np.nonzero(np.abs(pictures[0] - pictures[1]).max(axis=2) > 30)
    assert max(np.ptp(rows), np.ptp(columns)) >= 5


def test_looks_vary() -> None:
    one = chart(("bar",), "train", 0)
    pictures = {Plot(replace(one, look=look), 224).pixels().tobytes() for look in range(10)}
    assert len(pictures) == 10


@pytest.mark.parametrize("size", [160, 224, 320])
def test_the_size_is_a_parameter(size: int) -> None:
    observation, _ = ChartQAEnv(image_size=size).reset(seed=0)
    assert observation["image"].shape == (size, size, 3)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [({"image_size": 100}, "from 160"), ({"kinds": ("map",)}, "choose from bar"), ({"kinds": ()}, "choose")],
)
def test_what_cannot_be_drawn_is_refused(kwargs: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChartQAEnv(**kwargs)  # type: ignore[arg-type]


def test_blind_guesses_solve_few() -> None:
    env, num = ChartQAEnv(), 0
    for index in range(150):
        observation, info = env.reset(seed=0, options={"task_id": f"test:{index}"})
        num += env.step(env.baselines()["blind"].act(observation, info))[4]["success"]
    assert num < 0.25 * 150
