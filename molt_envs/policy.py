"""What plays an environment in text: an oracle, a script, a random agent.

In: observations and `info`. Out: actions. A policy that needs the environment's secrets is given it when
it is made, never through `info`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from molt_envs.protocol.images import Observation


class Policy(Protocol):
    """Plays one episode; make a new one for the next."""

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The next action."""
        ...


class FixedScript:
    """Writes the same actions in every episode, whatever it sees; after the last it repeats the last.

    Args:
        actions: at least one. `FixedScript([""])` does nothing at all.
    """

    def __init__(self, actions: Sequence[str]) -> None:
        if not actions:
            raise ValueError("a script needs at least one action")
        self._actions = tuple(actions)
        self._turn = 0

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The next action."""
        action = self._actions[min(self._turn, len(self._actions) - 1)]
        self._turn += 1
        return action


class RandomAdmissible:
    """Draws one of `info["admissible_actions"]`, or writes nothing where none are listed.

    Args:
        seed: fixes its choices.
    """

    def __init__(self, seed: int = 0) -> None:
        self._rng = random.Random(seed)

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The next action."""
        return self._rng.choice(info.get("admissible_actions") or ("",))
