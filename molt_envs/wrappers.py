"""Wrappers for controls that must fail: no images, or those of other tasks.

In: an environment whose observations carry images. Out: the same episodes, texts and rewards, other pixels.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from molt_envs.protocol.images import Observation, Pixels

NUM_SEEDS = 2**31


class HiddenImages(gymnasium.ObservationWrapper[Observation, str, Observation]):
    """Shows the text alone: every image is zeros, which means that there is nothing to see."""

    def observation(self, observation: Observation) -> Observation:
        """The observation without its image."""
        if isinstance(observation, str):
            return observation
        return {**observation, "image": np.zeros_like(observation["image"])}


class SwappedImages(gymnasium.Wrapper[Observation, str, Observation, str]):
    """Shows the first image of another task wherever an image is shown; which one depends on seed and turn.

    Args:
        env: the environment that is played.
        other: another one of the same kind, from which the images are taken; it is closed with `env`.
    """

    def __init__(self, env: gymnasium.Env[Observation, str], other: gymnasium.Env[Observation, str]) -> None:
        super().__init__(env)
        self._other, self._rng = other, np.random.default_rng(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """See `AgentEnv.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._rng = np.random.default_rng(seed)
        return self._swapped(observation, info["task_id"]), info

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """See `AgentEnv.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._swapped(observation, info["task_id"]), float(reward), terminated, truncated, info

    def close(self) -> None:
        """Close both environments."""
        self._other.close()
        super().close()

    def _swapped(self, observation: Observation, task_id: str) -> Observation:
        if isinstance(observation, str) or not observation["image"].any():
            return observation
        return {**observation, "image": self._image(task_id)}

    def _image(self, left_out: str) -> Pixels:
        """The first image of any task but this one."""
        while True:
            observation, info = self._other.reset(seed=int(self._rng.integers(NUM_SEEDS)))
            if info["task_id"] != left_out:
                return observation["image"]
