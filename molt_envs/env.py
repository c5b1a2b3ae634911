"""The base class of the hub's environments: a `gymnasium.Env` over text that names its tasks.

In: `reset(seed, options)` and `step(action: str)`. Out: observations as text, with an image where the card
says so; rewards checked against the declared range, and an `info` with the same keys everywhere. A family
implements `_begin` and `_act`.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import gymnasium
import numpy as np

from molt_envs.errors import EpisodeDone, InfrastructureError, TaskError
from molt_envs.policy import FixedScript, Policy, RandomAdmissible
from molt_envs.protocol.images import ImageObservation, Observation, Pixels, text_of
from molt_envs.protocol.messages import ToolSchema
from molt_envs.spaces import UnicodeText, observation_space


@dataclass(frozen=True)
class ActionGrammar:
    """What an action looks like and how it is found in the model's message."""

    description: str
    """For the system prompt: the forms an action may take."""
    example: str
    """One valid action."""
    pattern: str | None = None
    """Regular expression whose last match in the message is the action; None takes the stripped message."""

    def extract(self, text: str) -> str:
        """The action in a model's message; the stripped message itself when nothing matches."""
        if self.pattern is not None:
            matches = list(re.finditer(self.pattern, text))
            if matches:
                return matches[-1].group(0)
        return text.strip()


@dataclass(frozen=True)
class EnvCard:
    """What an environment declares about itself, once."""

    summary: str
    """One line for lists."""
    system_prompt: str
    """What the policy is told before the first observation."""
    grammar: ActionGrammar
    """The form of an action."""
    reward_range: tuple[float, float]
    """Least and greatest reward of one step, both attainable bounds and finite."""
    splits: Mapping[str, int]
    """Number of tasks of each split; tasks of different splits share no goal."""
    max_turns: int
    """Steps after which an episode is truncated."""
    observation_role: Literal["user", "tool"] = "user"
    """The role in which observations are shown to the policy."""
    tools: tuple[ToolSchema, ...] = ()
    """Tools as JSON schemas; then an action is the canonical JSON of the list of calls."""
    bounded: bool = False
    """Pure and quick: may be stepped in a thread of the trainer's process."""
    licence: str = "Apache-2.0"
    """Licence of code and data."""
    max_observation_chars: int = 65_536
    """Longest observation."""
    max_baseline_success: float = 0.3
    """Highest share of tasks that a baseline, a policy without any skill, may solve."""
    image_size: tuple[int, int] | None = None
    """Height and width of the images in observations; None for text alone."""


@dataclass(frozen=True)
class Task:
    """A task by name."""

    split: str
    """Which split."""
    index: int
    """Position in the split, from 0."""

    @property
    def task_id(self) -> str:
        """The name under which `options={"task_id": …}` finds it again."""
        return f"{self.split}:{self.index}"


@dataclass(frozen=True, slots=True)
class Turn:
    """What a family returns from `_begin` and `_act`."""

    observation: str
    """What the policy sees next."""
    reward: float = 0.0
    """Reward of this step."""
    terminated: bool = False
    """Whether the task has come to its own end."""
    score: float = 0.0
    """The family's measure of the result so far."""
    success: bool = False
    """Whether the task is solved."""
    admissible_actions: tuple[str, ...] | None = None
    """Actions that do something here, where they can be listed."""
    state_key: str | None = None
    """Equal in equal states, where a step-level baseline can use it."""
    details: Mapping[str, object] = field(default_factory=dict[str, object])
    """Further entries of `info`, such as the parts of a reward. Never the answer."""
    image: Pixels | None = None
    """What the policy is shown, of the card's size; None for nothing new, and where the card has no size."""


IMAGE_METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 1}
"""`metadata` of the class of an environment that shows images; Gymnasium reads it before one is made."""


class TextEnv(gymnasium.Env[Observation, str]):
    """What everything that plays or wraps an environment relies on, wherever its episodes run.

    Args:
        card: what the environment declares.
        render_mode: `ansi`, `rgb_array` where the card has an `image_size`, or None.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - as Gymnasium declares it
    render_mode = None

    def __init__(self, card: EnvCard, render_mode: str | None = None) -> None:
        if card.max_turns < 1:
            raise ValueError(f"max_turns is {card.max_turns}; an episode has at least one turn")
        self.card = card
        self.render_mode = render_mode
        self.observation_space = observation_space(card.max_observation_chars, card.image_size)
        self.action_space = UnicodeText(2**20)
        self._observation: Observation = ""

    def render(self) -> str | Pixels:
        """The last observation, for people: its image with `rgb_array`, else its text."""
        if self.render_mode == "rgb_array" and not isinstance(self._observation, str):
            return self._observation["image"]
        return text_of(self._observation)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy | None:
        """A policy that solves the running task, made after `reset`; None where the family has none.

        Args:
            seed: fixes its choices.
            noise: share of its needed steps that are left out, for demonstrations that are not perfect.
        """
        return None

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """Policies without skill by name, made after `reset`; they solve next to nothing in a sound task.

        `nothing` and `random` are there for every environment; a family adds `script`, the best fixed plan
        it knows, and replaces `random` where admissible actions are not listed.

        Args:
            seed: fixes their choices.
        """
        return {"nothing": FixedScript([""]), "random": RandomAdmissible(seed)}


class AgentEnv(TextEnv):
    """An environment whose episodes run in this process. Subclasses implement `_begin` and `_act`.

    `info` always has `task_id`, `split`, `turn`, `score`, `success`; where they exist,
    `admissible_actions` and `state_key`.
    """

    def __init__(self, card: EnvCard, render_mode: str | None = None) -> None:
        super().__init__(card, render_mode)
        self.task: Task | None = None
        self._turn = 0
        self._done = True

    @abstractmethod
    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        """Start `task`. `rng` depends on the seed alone; most families draw nothing from it."""

    @abstractmethod
    def _act(self, action: str) -> Turn:
        """Take one action; an invalid one is a defined step of the family, never an exception."""

    def running_task(self) -> Task:
        """The task that was begun last, for policies that are made for it.

        Raises:
            ValueError: none was.
        """
        if self.task is None:
            raise ValueError("a policy needs a running task; call reset() first")
        return self.task

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: same seed and options, same episode, in every process.
            options: `split` (default `train`) and `task_id` (`split:index`; default: drawn by the seed).

        Raises:
            TaskError: an option, a split or a task that this environment does not have.
        """
        self._done = True  # a refused reset must not leave the episode before it running
        super().reset(seed=seed)
        self.task = self._choose(options or {})
        self._turn, self._done = 0, False
        return self._show(self._begin(self.task, self.np_random))

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one action.

        Raises:
            EpisodeDone: no episode is running.
            TypeError: the action is not a `str`.
            InfrastructureError: the family produced a reward outside its declared range, or an image of
                another size than it declared.
        """
        if self._done:
            raise EpisodeDone(
                "step() without a running episode: it has ended or was never reset; call reset() first"
            )
        if not isinstance(action, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"an action is a str, not {type(action).__name__}")
        turn = self._act(action)
        low, high = self.card.reward_range
        if not (math.isfinite(turn.reward) and low <= turn.reward <= high):
            raise InfrastructureError(f"reward {turn.reward} is outside the declared range [{low}, {high}]")
        self._turn += 1
        truncated = self._turn >= self.card.max_turns and not turn.terminated
        self._done = turn.terminated or truncated
        observation, info = self._show(turn)
        return observation, turn.reward, turn.terminated, truncated, info

    def _show(self, turn: Turn) -> tuple[Observation, dict[str, Any]]:
        assert self.task is not None
        info: dict[str, Any] = {
            "task_id": self.task.task_id,
            "split": self.task.split,
            "turn": self._turn,
            "score": turn.score,
            "success": turn.success,
        }
        if turn.admissible_actions is not None:
            info["admissible_actions"] = turn.admissible_actions
        if turn.state_key is not None:
            info["state_key"] = turn.state_key
        info.update(turn.details)
        self._observation = self._observed(turn)
        return self._observation, info

    def _observed(self, turn: Turn) -> str | ImageObservation:
        size, image = self.card.image_size, turn.image
        expected = None if size is None else (*size, 3)
        if image is not None and (image.shape != expected or image.dtype != np.uint8):
            raise InfrastructureError(f"an image is {image.dtype} {image.shape}, the card says {expected}")
        if expected is None:
            return turn.observation
        # A copy: whoever is shown an image may write to it.
        shown = np.zeros(expected, np.uint8) if image is None else np.array(image)
        return {"text": turn.observation, "image": shown}

    def _choose(self, options: Mapping[str, Any]) -> Task:
        return draw_task(self.card.splits, self.np_random, options)


def draw_task(splits: Mapping[str, int], rng: np.random.Generator, options: Mapping[str, Any]) -> Task:
    """The task that reset options name, or one drawn from `rng`.

    Args:
        splits: number of tasks of each split.
        rng: advanced by one draw in any case.
        options: `split` (default `train`) and `task_id` (`split:index`).

    Raises:
        TaskError: an option, a split or a task that is not there.
    """
    unknown = sorted(set(options) - {"split", "task_id"})
    if unknown:
        raise TaskError(f"unknown reset option {unknown[0]!r}; known are 'split' and 'task_id'")
    # Drawn in any case, so that naming the task that a seed draws gives the same episode.
    draw = int(rng.integers(2**63))
    task_id = options.get("task_id")
    if task_id is None:
        split = _known_split(splits, options.get("split", "train"))
        return Task(split, draw % splits[split])
    split, _, index = str(task_id).partition(":")
    _known_split(splits, split)
    if options.get("split", split) != split:
        raise TaskError(f"task_id {task_id!r} is not in split {options['split']!r}")
    if not (index.isascii() and index.isdigit() and int(index) < splits[split]):
        last = splits[split] - 1
        raise TaskError(f"task_id {task_id!r} does not exist; {split} has {split}:0 to {split}:{last}")
    return Task(split, int(index))


def _known_split(splits: Mapping[str, int], split: object) -> str:
    if not isinstance(split, str) or splits.get(split, 0) < 1:
        raise TaskError(f"unknown split {split!r}; this environment has {', '.join(splits)}")
    return split
