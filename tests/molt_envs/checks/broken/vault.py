"""A sound environment, which the broken ones change in one place: look, take the key, open the door."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from molt_envs import ActionGrammar, AgentEnv, EnvCard, Policy, Task, Turn

ROOMS = ("attic", "barn", "cellar", "den", "entry", "foyer", "garage", "hall")
COLOURS = ("amber", "beige", "coral", "denim", "ebony", "fawn", "green", "hazel", "ivory", "jade")
GRAMMAR = ActionGrammar("`look`, `take colour` or `open room`", "look")
CARD = EnvCard(
    summary="Find the key and open the door",
    system_prompt="Look where the key is, take it, and open the door that it fits.",
    grammar=GRAMMAR,
    reward_range=(0.0, 1.0),
    splits={"train": 60, "test": 20},
    max_turns=6,
    max_observation_chars=1000,
    bounded=True,
)


class VaultOracle:
    """Looks, takes, opens."""

    def __init__(self, env: VaultEnv) -> None:
        self._plan = ["look", f"take {env.colour}", f"open {env.room}"]

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        return self._plan.pop(0)


class VaultEnv(AgentEnv):
    """`look` tells the key's colour, and taking the key tells the room."""

    def __init__(self, card: EnvCard = CARD, render_mode: str | None = None) -> None:
        super().__init__(card, render_mode)

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        number = task.index if task.split == "train" else 60 + task.index
        self.colour, self.room = COLOURS[number % 10], ROOMS[number // 10]
        self.has_key = False
        self.number = number
        return self.turn(f"You stand before vault {number}.")

    def _act(self, action: str) -> Turn:
        if action == "look":
            return self.turn(f"There is a {self.colour} key.")
        if action == f"take {self.colour}":
            self.has_key = True
            return self.turn(f"Its tag says: {self.room}.")
        if action == f"open {self.room}" and self.has_key:
            return Turn("It opens.", 1.0, True, 1.0, True)
        return self.turn("Nothing happens.")

    def turn(self, text: str, **details: object) -> Turn:
        """A turn that goes on."""
        return Turn(text, state_key=f"{self.number} {self.has_key}", details=details)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy | None:
        """See `AgentEnv.oracle`."""
        return VaultOracle(self)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; `random` knows the words."""
        return super().baselines(seed) | {"random": RandomWords(seed)}


class RandomWords:
    """Looks, takes and opens whatever it thinks of.

    Args:
        seed: fixes its choices.
    """

    def __init__(self, seed: int = 0) -> None:
        self._rng = random.Random(seed)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        words = [f"take {self._rng.choice(COLOURS)}", f"open {self._rng.choice(ROOMS)}", "look"]
        return self._rng.choice(words)
