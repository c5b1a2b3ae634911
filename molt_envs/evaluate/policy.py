"""Who plays: what `--policy` names, and the seam behind which chat models, scripts and oracles look alike.

In: a specification such as `oracle` or `python:module:name`. Out: a `PolicySource`, which gives each episode
its own policy.
"""

from __future__ import annotations

import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

from molt_envs.env import EnvCard, TextEnv
from molt_envs.errors import InfrastructureError
from molt_envs.policy import Policy
from molt_envs.protocol.images import Observation

BUILT_IN = ("oracle", "random", "script", "nothing", "blind")


@dataclass(frozen=True)
class Limits:
    """How a model's turns are sampled."""

    temperature: float = 1.0
    """0 is greedy."""
    max_tokens: int = 512
    """Most tokens of one turn; a message that reaches it ends the episode with the outcome *length*."""


@dataclass(frozen=True)
class EpisodeStart:
    """What a policy may know before its episode. The oracle gets the environment; a model must not use it."""

    env: TextEnv
    """The environment, already reset; its card has the system prompt and the tools."""
    task_id: str
    """The task that was begun."""
    seed: int
    """Fixes the policy's own choices."""
    limits: Limits
    """How a model's turns are sampled."""

    @property
    def card(self) -> EnvCard:
        """What the environment declares."""
        return self.env.card


@dataclass(frozen=True)
class Reply:
    """One turn of a chat policy."""

    action: str
    """For the environment."""
    message: str
    """What was written, for the record."""
    num_prompt_tokens: int = 0
    """Tokens read."""
    num_completion_tokens: int = 0
    """Tokens written."""
    was_cut: bool = False
    """The message reached the limit of tokens and is not taken as an action."""


class ContextFull(Exception):
    """The conversation no longer fits the model's context; the episode ends with the outcome *length*."""


class ChatPolicy(ABC):
    """A policy that writes messages and counts its tokens; it is a `Policy` too."""

    @abstractmethod
    def reply(self, observation: Observation, info: Mapping[str, Any]) -> Reply:
        """The next turn.

        Raises:
            ContextFull: see there.
            InfrastructureError: the model could not be asked; the episode is unresolved.
        """

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The next action."""
        return self.reply(observation, info).action

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """The episode is over."""


class PolicySource(ABC):
    """Gives every episode its policy; `start` is called from several threads at once."""

    @abstractmethod
    def start(self, start: EpisodeStart) -> Policy:
        """The policy of one episode."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """The evaluation is over."""


class BuiltIn(PolicySource):
    """The environment's own oracle or one of its baselines."""

    def __init__(self, name: str) -> None:
        self._name = name

    def start(self, start: EpisodeStart) -> Policy:
        """See `PolicySource.start`."""
        if self._name == "oracle":
            oracle = start.env.oracle(start.seed)
            if oracle is None:
                raise InfrastructureError("this environment has no oracle; choose another policy")
            return oracle
        baselines = start.env.baselines(start.seed)
        if self._name not in baselines:
            raise InfrastructureError(
                f"this environment has no policy {self._name!r}; it has {', '.join(sorted(baselines))}"
            )
        return baselines[self._name]


@runtime_checkable
class _Acts(Protocol):
    def act(self, observation: Observation, info: Mapping[str, Any]) -> str: ...


class FromFunction(PolicySource):
    """Calls a function for every episode, with the `EpisodeStart` if it takes an argument."""

    def __init__(self, function: Callable[..., Policy]) -> None:
        self._function = function
        parameters = inspect.signature(function).parameters.values()
        needed = [one for one in parameters if one.default is one.empty and one.kind < one.VAR_POSITIONAL]
        if len(needed) > 1:
            raise ValueError(
                f"{function} takes {len(needed)} arguments; a policy function takes none, or the EpisodeStart"
            )
        self._takes_start = len(needed) == 1

    def start(self, start: EpisodeStart) -> Policy:
        """See `PolicySource.start`."""
        return self._function(start) if self._takes_start else self._function()


class Shared(PolicySource):
    """One object with `act` for all episodes; it must keep nothing of an episode."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def start(self, start: EpisodeStart) -> Policy:
        """See `PolicySource.start`."""
        return self._policy


def from_python(name: str) -> PolicySource:
    """The source that `module:name` or `module:name:argument` means.

    `name` is a subclass of `PolicySource`, made once, with the argument if one is given; an instance of one;
    a class or function that gives one policy per episode; or an object with `act`.

    Raises:
        ValueError: there is no such name, or it is nothing of the kind.
    """
    module_name, _, rest = name.partition(":")
    path, *arguments = rest.split(":", 1)
    if not module_name or not path.isidentifier():
        raise ValueError(f"policy 'python:{name}' is not of the form python:module:name")
    try:
        target: Any = vars(importlib.import_module(module_name))[path]
    except ImportError as error:
        raise ValueError(f"policy 'python:{name}': the module cannot be imported: {error}") from error
    except KeyError:
        raise ValueError(f"policy 'python:{name}': {module_name} has no {path!r}") from None
    if isinstance(target, type) and issubclass(cast("type[object]", target), PolicySource):
        return cast("Callable[..., PolicySource]", target)(*arguments)
    if arguments:
        raise ValueError(f"policy 'python:{name}': only a subclass of PolicySource takes an argument")
    if isinstance(target, PolicySource):
        return target
    if isinstance(target, Callable):
        return FromFunction(cast("Callable[..., Policy]", target))
    if isinstance(target, _Acts):
        return Shared(target)
    raise ValueError(f"policy 'python:{name}' is a {type(target).__name__}; it needs a method `act`")
