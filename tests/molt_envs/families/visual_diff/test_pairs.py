"""Pairs of boards: where they differ is what is asked, and is seen in the pixels."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from molt_envs.families.visual_diff.env import VisualDiffEnv
from molt_envs.families.visual_diff.pairs import MARGIN, SPLITS, Pair, Setting, pair

SETTING = Setting()
NUM_SAMPLES = 300


def places(one: Pair) -> list[int]:
    return [place for place, (a, b) in enumerate(zip(one.left, one.right, strict=True)) if a != b]


@pytest.mark.parametrize("split", SPLITS)
def test_the_answer_is_where_or_how_often_the_boards_differ(split: str) -> None:
    for index in range(NUM_SAMPLES):
        one = pair(SETTING, split, index)
        found = places(one)
        if one.question.kind == "where":
            assert found == [one.question.answer - 1]
        else:
            assert len(found) == one.question.answer


def test_every_answer_is_as_likely_as_another() -> None:
    for kind, num in (("count", 6), ("where", 16)):
        setting = Setting(kinds=(kind,))
        counts = Counter(pair(setting, "train", index).question.answer for index in range(800))
        assert set(counts) == set(range(1, num + 1)) and max(counts.values()) < 1.6 * 800 / num


def test_the_pixels_differ_in_these_cells_and_in_no_other() -> None:
    cell = (SETTING.image_size - 2 * MARGIN) / SETTING.board_size
    for index in range(60):
        one = pair(SETTING, "train", index)
        pixels = one.picture(SETTING).astype(int)
        differs = np.abs(pixels[:, :112] - pixels[:, 112:]).max(axis=2) > 40
        seen = []
        for place in range(16):
            top, left = (round(MARGIN + part * cell) for part in divmod(place, 4))
            inside = differs[top + 3 : round(top + cell) - 3, left + 3 : round(left + cell) - 3]
            seen += [place] if inside.sum() > 15 else []
        assert seen == places(one), index


def test_splits_share_no_pair() -> None:
    found = {
        split: {(one.left, one.right) for one in (pair(SETTING, split, i) for i in range(500))}
        for split in SPLITS
    }
    assert not found["train"] & found["test"] and not found["validation"] & found["test"]
    assert not found["train"] & found["validation"]


def test_the_picture_is_twice_as_wide_as_high() -> None:
    observation, _ = VisualDiffEnv(image_size=84, board_size=3).reset(seed=0)
    assert observation["image"].shape == (84, 168, 3)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"board_size": 9}, "9 cells do not show in 112 pixels"),
        ({"max_differences": 17}, "17 differences in 16 cells"),
        ({"kinds": ("why",)}, "choose from count, where"),
    ],
)
def test_what_cannot_be_drawn_is_refused(kwargs: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VisualDiffEnv(**kwargs)  # type: ignore[arg-type]
