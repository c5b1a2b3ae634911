"""Scenes: what is asked is what is shown, nothing but the picture tells it, and it is seen in the pixels."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from molt_envs.families.visual_count.env import VisualCountEnv
from molt_envs.families.visual_count.scenes import SPLITS, Setting, scene

SETTING = Setting()
NUM_SAMPLES = 400


@pytest.mark.parametrize("split", SPLITS)
def test_the_answer_is_the_number_of_things_that_are_named(split: str) -> None:
    for index in range(NUM_SAMPLES):
        drawn = scene(SETTING, split, index)
        words = drawn.question.text.split()[2:-2]
        wanted = [
            thing
            for thing in drawn.things
            if all(word in (thing.colour, f"{thing.shape}s", "shapes") for word in words)
        ]
        assert len(wanted) == drawn.question.answer, drawn


def test_every_number_is_as_likely_as_another_whatever_is_asked() -> None:
    for kind in SETTING.kinds:
        setting = Setting(kinds=(kind,))
        counts = Counter(scene(setting, "train", index).question.answer for index in range(800))
        assert set(counts) == set(range(1, 9)) and max(counts.values()) < 0.18 * 800


def test_things_lie_in_places_of_their_own() -> None:
    for index in range(NUM_SAMPLES):
        places = [thing.place for thing in scene(SETTING, "train", index).things]
        assert len(set(places)) == len(places)


def test_splits_share_no_scene() -> None:
    found = {
        split: {(one.question.text, one.things) for one in (scene(SETTING, split, i) for i in range(1000))}
        for split in SPLITS
    }
    assert not found["train"] & found["test"] and not found["validation"] & found["test"]
    assert not found["train"] & found["validation"]


def test_more_things_of_a_colour_are_more_pixels_of_it() -> None:
    setting = Setting(kinds=("colour",), max_others=2)
    scenes = [scene(setting, "train", index) for index in range(600)]
    red = [one for one in scenes if "red" in one.question.text]
    counts = [one.question.answer for one in red]
    areas = []
    for one in red:
        pixels = one.picture(setting).astype(int)
        areas.append(int(((pixels[..., 0] > 150) & (pixels[..., 1] < 90) & (pixels[..., 2] < 90)).sum()))
    assert np.corrcoef(counts, areas)[0, 1] > 0.85


@pytest.mark.parametrize("size", [56, 84, 128])
def test_the_size_is_a_parameter(size: int) -> None:
    env = VisualCountEnv(image_size=size, max_count=4, max_others=3)
    observation, _ = env.reset(seed=0)
    assert observation["image"].shape == (size, size, 3)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"image_size": 28}, "14 shapes do not fit into 28 pixels; at most 4 do"),
        ({"kinds": ("size",)}, "choose from"),
        ({"kinds": ()}, "choose from"),
        ({"max_count": 1}, "at least 2"),
    ],
)
def test_what_cannot_be_drawn_is_refused(kwargs: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VisualCountEnv(**kwargs)  # type: ignore[arg-type]


def test_blind_guesses_stay_near_one_in_eight() -> None:
    env, num = VisualCountEnv(), 0
    for index in range(NUM_SAMPLES):
        observation, info = env.reset(seed=0, options={"task_id": f"test:{index}"})
        num += env.step(env.baselines()["blind"].act(observation, info))[4]["success"]
    assert num < 0.2 * NUM_SAMPLES
