"""Unicode text in single, sync and async vector environments."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from molt_envs import UnicodeText
from tests.molt_envs.toy import WORDS, register_toy

TEXTS = ("", "\0", "rød", "日本", "😀", "\ud83d lone", "\ud83d\ude00", "x" * 100)


class DictEnv(gymnasium.Env[dict[str, Any], str]):
    """Text and pixels side by side."""

    observation_space = Dict({"text": UnicodeText(100), "image": Box(0, 255, (2, 2, 3), np.uint8)})
    action_space = UnicodeText(100)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self._see(f"{seed} 日本"), {}

    def step(self, action: str) -> Any:
        return self._see(action), 0.0, False, False, {}

    def _see(self, text: str) -> dict[str, Any]:
        return {"text": text, "image": np.full((2, 2, 3), len(text), np.uint8)}


@pytest.mark.parametrize("text", TEXTS)
def test_any_string_is_in_the_space(text: str) -> None:
    assert UnicodeText(100).contains(text)


@pytest.mark.parametrize("value", ["x" * 101, b"x", None, 3, ["x"]])
def test_other_values_are_not(value: object) -> None:
    assert not UnicodeText(100).contains(value)


def test_samples_are_in_the_space_and_seeded() -> None:
    one, two = UnicodeText(10, seed=1), UnicodeText(10, seed=1)
    samples = [one.sample() for _ in range(50)]
    assert all(one.contains(sample) for sample in samples)
    assert samples == [two.sample() for _ in range(50)]
    assert len(set(samples)) > 40


def test_a_space_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="max_length is 0"):
        UnicodeText(0)


def play(env: Any, num_steps: int, autoreset: AutoresetMode) -> list[Any]:
    """Everything that a vector environment shows."""
    observations, info = env.reset(seed=3)
    seen = [observations, info["task_id"].tolist()]
    over = np.zeros(env.num_envs, dtype=bool)
    for turn in range(num_steps):
        if autoreset == AutoresetMode.DISABLED and over.any():
            observations, info = env.reset(options={"reset_mask": over})
            seen.append(observations)
        actions = tuple(WORDS[(turn + index) % len(WORDS)] for index in range(env.num_envs))
        observations, rewards, terminated, truncated, info = env.step(actions)
        over = terminated | truncated
        seen += [observations, rewards.tolist(), terminated.tolist(), truncated.tolist()]
        if "final_obs" in info:
            seen.append(list(info["final_obs"]))
    return seen


@pytest.mark.parametrize("autoreset", list(AutoresetMode))
def test_sync_and_async_show_the_same(autoreset: AutoresetMode) -> None:
    register_toy()
    seen = []
    for mode in ("sync", "async"):
        env = gymnasium.make_vec(
            register_toy(), num_envs=3, vectorization_mode=mode, vector_kwargs={"autoreset_mode": autoreset}
        )
        seen.append(play(env, 9, autoreset))
        env.close()
    assert seen[0] == seen[1]
    assert all(":" in text for text in seen[0][0])


@pytest.mark.parametrize("context", ["spawn", "forkserver", "fork"])
def test_async_is_right_in_every_start_method(context: str) -> None:
    env = gymnasium.make_vec(
        register_toy(), num_envs=2, vectorization_mode="async", vector_kwargs={"context": context}
    )
    observations, _ = env.reset(seed=[1, 2], options={"task_id": "train:0"})
    single = gymnasium.make(register_toy())
    assert observations == tuple(
        single.reset(seed=seed, options={"task_id": "train:0"})[0] for seed in (1, 2)
    )
    observations, *_ = env.step(("\ud83d\ude00 😀", "日本"))
    assert observations == ("no, not \ud83d\ude00 😀", "no, not 日本")
    env.close()


def test_a_shorter_text_leaves_nothing_of_a_longer_one() -> None:
    env = AsyncVectorEnv([DictEnv])
    env.reset(seed=1)
    assert [env.step((text,))[0]["text"] for text in ("long text", "s", "")] == [
        ("long text",),
        ("s",),
        ("",),
    ]
    env.close()


def test_text_in_a_dict_space_is_the_same_in_sync_and_async() -> None:
    shown = []
    for env in (SyncVectorEnv([DictEnv, DictEnv]), AsyncVectorEnv([DictEnv, DictEnv])):
        first, _ = env.reset(seed=1)
        second, *_ = env.step(("\0😀", ""))
        shown.append([first["text"], first["image"].tolist(), second["text"], second["image"].tolist()])
        env.close()
    assert shown[0] == shown[1]
    assert shown[0][2] == ("\0😀", "")


def test_a_text_that_is_too_long_fails_loudly() -> None:
    env = AsyncVectorEnv([DictEnv])
    env.reset(seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Gymnasium repeats the worker's error as warnings
        with pytest.raises(ValueError, match="exceeds max_length"):
            env.step(("😀" * 101,))
    env.close(terminate=True)
