"""From an episode to the number that is maximised: a named rule, or any Python function.

In: resolved `Episode`s. Out: one float each, or the episode marked unresolved when its grader failed.
"""

from __future__ import annotations

import asyncio
import importlib
import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import cast

from molt_envs import Episode
from molt_envs.errors import boundary

RewardFunction = Callable[[Episode], float | None]


def env_reward(episode: Episode) -> float | None:
    """The sum of the environment's own rewards."""
    return episode.reward


def success_reward(episode: Episode) -> float | None:
    """1 for a solved task, else 0."""
    return None if episode.success is None else float(episode.success)


def mostly_success(episode: Episode) -> float | None:
    """.8 · success + .2 · score: partial credit never pays better than going back and solving the task."""
    if episode.success is None or episode.score is None:
        return None
    return 0.8 * float(episode.success) + 0.2 * episode.score


REWARDS: dict[str, RewardFunction] = {
    "env": env_reward,
    "success": success_reward,
    "mostly_success": mostly_success,
}


@dataclass(frozen=True)
class Graded:
    """An episode with its reward."""

    episode: Episode
    """The episode; unresolved when its grader failed."""
    reward: float | None
    """None: unscored, excluded from training."""


def load_reward(name: str) -> RewardFunction:
    """A rule of `REWARDS` by name, or `module:function`.

    Raises:
        ValueError: no such rule, module or function.
    """
    if name in REWARDS:
        return REWARDS[name]
    module_name, colon, attribute = name.partition(":")
    if not colon:
        raise ValueError(
            f"unknown reward {name!r}; known are {', '.join(REWARDS)}, or give 'module:function'"
        )
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(f"reward {name!r}: cannot import {module_name!r}: {error}") from error
    function = vars(module).get(attribute)
    if not callable(function):
        raise ValueError(f"reward {name!r}: {module_name} has no function {attribute!r}")
    return cast("RewardFunction", function)


def grade(episode: Episode, reward_function: RewardFunction) -> Graded:
    """Grade an episode; an unresolved one is passed through without a reward.

    A grader that raises, or gives a number that is not finite, makes its episode unresolved: never a zero.
    """
    if episode.outcome == "unresolved":
        return Graded(episode, None)
    reward: float | None = None
    with boundary() as result:
        reward = reward_function(episode)
        if reward is not None and not math.isfinite(reward):
            raise ValueError(f"the reward function gave {reward}")
    if result.failure is not None:
        return _ungraded(episode, f"grader: {result.failure.reason}")
    return Graded(episode, reward)


async def grade_with_timeout(
    episode: Episode, reward_function: RewardFunction, executor: Executor, timeout_s: float
) -> Graded:
    """Grade off the event loop; a grader that takes longer makes the episode unresolved.

    The slow call is left to end by itself in its thread, and its result is dropped.
    """
    if episode.outcome == "unresolved":
        return Graded(episode, None)
    call = asyncio.get_running_loop().run_in_executor(executor, grade, episode, reward_function)
    try:
        async with asyncio.timeout(timeout_s):
            return await call
    except TimeoutError:
        return _ungraded(episode, f"grader: no reward within {timeout_s} s")


def _ungraded(episode: Episode, reason: str) -> Graded:
    return Graded(replace(episode, outcome="unresolved", score=None, success=None, reason=reason), None)
