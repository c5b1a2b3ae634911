"""The environment under check, and episodes of it played once for all checks.

In: a registered id or a function that makes an environment, and how thorough to be. Out: environments, tasks
and `Play`s.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

import gymnasium
import numpy as np

from molt_envs.checks.findings import require
from molt_envs.env import AgentEnv, EnvCard, Task
from molt_envs.errors import boundary
from molt_envs.policy import FixedScript, Policy
from molt_envs.protocol.images import Image, Observation, images_of, text_of

MOST_QUICK_S, MOST_FULL_S = 5.0, 120.0
"""What the episodes of one check may take."""

Factory = Callable[[], "gymnasium.Env[str, str]"]
Level = Literal["quick", "full"]
PolicyMaker = Callable[[AgentEnv], Policy]


@dataclass(frozen=True, slots=True)
class Play:
    """One episode as it was seen."""

    task_id: str
    """The task."""
    observations: tuple[str, ...]
    """Texts from the reset and after each step: one more than actions."""
    images: tuple[tuple[Image, ...], ...]
    """The images beside them."""
    fits: tuple[bool, ...]
    """Whether each observation lies in the environment's space."""
    infos: tuple[Mapping[str, Any], ...]
    """Beside the observations."""
    actions: tuple[str, ...]
    """What was done."""
    rewards: tuple[float, ...]
    """Of each step."""
    terminated: bool
    """Whether the task came to its own end."""
    truncated: bool
    """Whether the episode was cut."""

    @property
    def task(self) -> Task:
        """The task, to play it again."""
        split, _, index = self.task_id.partition(":")
        return Task(split, int(index))

    @property
    def success(self) -> bool:
        """Whether the last `info` says that the task is solved."""
        return bool(self.infos[-1]["success"])

    @property
    def seen(self) -> list[tuple[object, ...]]:
        """All that the policy could tell the episode by, one entry for each observation."""
        rewards = (None, *self.rewards)
        ends = [(False, False)] * len(self.actions) + [(self.terminated, self.truncated)]
        infos = [plain(info) for info in self.infos]
        shown = [
            "\n".join([text, *map(repr, images)])
            for text, images in zip(self.observations, self.images, strict=True)
        ]
        return list(zip(shown, infos, rewards, ends, strict=True))


class Subject:
    """An environment under check.

    Args:
        env: a registered id, or a function that makes a fresh environment.
        level: `quick` for seconds, `full` for minutes.
    """

    def __init__(self, env: str | Factory, level: Level = "quick") -> None:
        self.make: Factory = (lambda: gymnasium.make(env)) if isinstance(env, str) else env
        self.origin = env
        self.full = level == "full"
        self._oracle_errors: list[str] = []

    def make_base(self) -> AgentEnv:
        """A fresh environment without wrappers."""
        return base_of(self.make())

    @cached_property
    def card(self) -> EnvCard:
        """What the environment declares."""
        env = self.make_base()
        env.close()
        return env.card

    @cached_property
    def _costs_s(self) -> tuple[float, float]:
        """Time to reset to a new task, and of an episode of a known one."""
        env, (split, size) = self.make_base(), next(iter(self.card.splits.items()))
        first, second = Task(split, 0), Task(split, size // 2)
        play(env, script(""), first, num_most=1)  # loading is no part of a reset
        start = time.perf_counter()
        env.reset(seed=0, options={"task_id": second.task_id})
        reset_s = time.perf_counter() - start
        start = time.perf_counter()
        play(env, script(self.card.grammar.example), second)
        episode_s = time.perf_counter() - start
        env.close()
        return reset_s, episode_s

    def tasks(self, num_each: int, num_plays: int = 1) -> list[Task]:
        """Tasks of each split, evenly spread, the first included.

        Args:
            num_each: most tasks of a split; slow environments get fewer, so that the check still ends.
            num_plays: how often each will be played.
        """
        reset_s, episode_s = self._costs_s
        budget_s = MOST_FULL_S if self.full else MOST_QUICK_S
        fit = budget_s / (reset_s + num_plays * episode_s) / len(self.card.splits)
        found: list[Task] = []
        for name, size in self.card.splits.items():
            num = min(max(1, min(num_each, int(fit))), size)
            found += [Task(name, index * (size - 1) // max(1, num - 1)) for index in range(num)]
        return found

    @cached_property
    def oracle_plays(self) -> list[Play]:
        """The oracle on a few tasks of each split; empty where there is no oracle."""
        env, plays = self.make_base(), list[Play]()
        for task in self.tasks(64 if self.full else 8, num_plays=2):
            env.reset(seed=task.index, options={"task_id": task.task_id})
            if env.oracle(task.index) is None:
                continue
            with boundary() as result:
                plays.append(play(env, oracle_of(task.index), task, task.index))
            if result.failure is not None:
                self._oracle_errors.append(f"{task.task_id}: {result.failure.reason}")
        env.close()
        return plays

    def require_oracle_ran(self, about: str = "") -> None:
        """Fail where an exception broke an episode of the oracle off; `about` is a part of its message."""
        num_ended = len(self.oracle_plays)
        errors = [error for error in self._oracle_errors if about in error]
        num_all = num_ended + len(self._oracle_errors)
        require(
            not errors, f"{len(errors)} of {num_all} episodes of the oracle fail: {'; '.join(errors[:2])}"
        )

    @cached_property
    def baseline_plays(self) -> dict[str, list[Play]]:
        """Every baseline on tasks of all splits."""
        env = self.make_base()
        env.reset(seed=0)
        tasks = self.tasks(100 if self.full else 16)
        plays = {
            name: [play(env, baseline(name, task.index), task) for task in tasks] for name in env.baselines()
        }
        env.close()
        return plays


@dataclass(frozen=True, slots=True)
class Check:
    """One rule that environments are held to."""

    group: str
    """The group it is shown in."""
    name: str
    """The rule, as a statement."""
    run: Callable[[Subject], str | None]
    """Raises `CheckFailed` or `NotShown`, or gives what it measured."""
    mend: str
    """What to change in an environment that breaks the rule."""


def base_of(env: gymnasium.Env[Any, Any]) -> AgentEnv:
    """The environment under its wrappers, which must be an `AgentEnv`."""
    base = env.unwrapped
    require(isinstance(base, AgentEnv), f"{type(base).__name__} is not an AgentEnv")
    assert isinstance(base, AgentEnv)
    return base


def oracle_of(seed: int = 0) -> PolicyMaker:
    """Makes the running task's oracle; where there is none, the random baseline."""
    return lambda env: env.oracle(seed) or env.baselines(seed)["random"]


def baseline(name: str, seed: int = 0) -> PolicyMaker:
    """Makes the running task's baseline of that name."""
    return lambda env: env.baselines(seed)[name]


def script(*actions: str) -> PolicyMaker:
    """Makes a policy that writes these actions and then repeats the last."""
    return lambda env: FixedScript(actions)


def play(
    env: gymnasium.Env[Observation, str],
    make_policy: PolicyMaker,
    task: Task | None = None,
    seed: int = 0,
    num_most: int | None = None,
) -> Play:
    """Play one episode, or its first `num_most` steps.

    Args:
        env: is reset.
        make_policy: called after the reset.
        task: which; by default the one that the seed draws.
        seed: of the reset.
        num_most: most steps; by default one more than the environment allows.
    """
    options = {} if task is None else {"task_id": task.task_id}
    observation, info = env.reset(seed=seed, options=options)
    base = base_of(env)
    policy = make_policy(base)
    limit = base.card.max_turns + 1 if num_most is None else num_most
    observations, infos, actions, rewards = [observation], [info], list[str](), list[float]()
    terminated = truncated = False
    while not (terminated or truncated) and len(actions) < limit:
        actions.append(policy.act(observation, info))
        observation, reward, terminated, truncated, info = env.step(actions[-1])
        observations.append(observation)
        infos.append(info)
        rewards.append(float(reward))
    fits = tuple(map(env.observation_space.contains, observations))
    columns = (
        tuple(map(text_of, observations)),
        tuple(map(images_of, observations)),
        fits,
        tuple(infos),
        tuple(actions),
        tuple(rewards),
    )
    return Play(str(infos[0].get("task_id")), *columns, terminated, truncated)


def plain(value: object) -> object:
    """The value with mappings as sorted pairs, so that two of them compare and print alike."""
    if isinstance(value, Mapping):
        pairs = cast(Mapping[object, object], value).items()
        items = [(key, plain(item)) for key, item in pairs]
        return tuple(sorted(items, key=lambda item: str(item[0])))
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in cast(Sequence[object], value))
    if not isinstance(value, np.ndarray | np.generic):
        return value
    array = cast(Any, value)
    if array.ndim > 2:  # images
        return (array.shape, hashlib.sha256(array.tobytes()).hexdigest())
    return plain(array.tolist()) if array.dtype == object else array.tolist()


def first_difference(one: Play, two: Play) -> str | None:
    """Where two plays part, in words; None where they are the same."""
    for place, (left, right) in enumerate(zip(one.seen, two.seen, strict=False)):
        for name, mine, other in zip(("observation", "info", "reward", "end"), left, right, strict=True):
            if mine != other:
                return f"{one.task_id}, turn {place}: {name} {str(mine)[:80]!r}, then {str(other)[:80]!r}"
    if len(one.seen) != len(two.seen):
        return f"{one.task_id}: {len(one.actions)} turns, then {len(two.actions)}"
    return None
