"""The vault with one fault each; the docstring names it."""

from __future__ import annotations

import math
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from molt_envs import EnvCard, FixedScript, Policy, Task, Turn
from tests.molt_envs.checks.broken.vault import CARD, COLOURS, ROOMS, VaultEnv


class Unseeded(VaultEnv):
    """Draws from the global generator."""

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        turn = super()._begin(task, rng)
        self.colour = random.choice(COLOURS)
        return turn


class HashSeeded(VaultEnv):
    """Lists a set, in the order of its hashes."""

    def _act(self, action: str) -> Turn:
        turn = super()._act(action)
        return replace(turn, observation=" ".join({*COLOURS})) if action == "" else turn


class ThreadBound(VaultEnv):
    """Keeps the episode in its class, where other threads find it."""

    shared: list[str] = []  # noqa: RUF012 - the fault

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        turn = super()._begin(task, rng)
        self.shared[:] = [self.colour]
        return turn

    def _act(self, action: str) -> Turn:
        self.colour = self.shared[0]
        time.sleep(0.0002)
        return super()._act(action)


class Leaky(VaultEnv):
    """The key of an abandoned episode is still in hand."""

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        had = self.__dict__.get("has_key", False)
        turn = super()._begin(task, rng)
        self.has_key = had
        return turn


class Overpaid(VaultEnv):
    """Pays more than it declares."""

    def _act(self, action: str) -> Turn:
        turn = super()._act(action)
        return replace(turn, reward=2.0) if turn.success else turn


class NotANumber(VaultEnv):
    """Its step gives nan, past the check of the base class."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, math.nan if action == "" else reward, terminated, truncated, info


class Planted(VaultEnv):
    """The answer is in `info`, under a name that says nothing."""

    def turn(self, text: str, **details: object) -> Turn:
        return super().turn(text, debug={"x": [f"goal={self.room}"]})


class NamedAnswer(VaultEnv):
    """The answer is in `info`, under its name, while the oracle is not known."""

    def turn(self, text: str, **details: object) -> Turn:
        return super().turn(text, solution=self.room)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy | None:
        return None


class Told(VaultEnv):
    """The observation says what the answer is."""

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        turn = super()._begin(task, rng)
        return replace(turn, observation=f"{turn.observation} <!-- answer: {self.room} -->")


class Handle:
    """A way back to the environment."""

    def __init__(self, env: VaultEnv) -> None:
        self.env = env

    def __repr__(self) -> str:
        return "Handle"


class Reachable(VaultEnv):
    """`info` holds an object that leads to the environment."""

    def turn(self, text: str, **details: object) -> Turn:
        return super().turn(text, handle=Handle(self))


class Writable(VaultEnv):
    """`info` holds the list that the environment works with."""

    rooms: list[str]

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self.rooms = ["attic"]
        return super()._begin(task, rng)

    def _act(self, action: str) -> Turn:
        turn = super()._act(action)
        return turn if self.rooms else replace(turn, observation="You win.", reward=1.0, success=True)

    def turn(self, text: str, **details: object) -> Turn:
        return super().turn(text, rooms=self.rooms)


class Hoarding(VaultEnv):
    """Keeps something of every episode."""

    kept: list[str] = []  # noqa: RUF012 - the fault

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self.kept.append(f"{len(self.kept)} " * 500)
        return super()._begin(task, rng)


class Fragile(VaultEnv):
    """Raises at an action it does not expect."""

    def _act(self, action: str) -> Turn:
        action.encode("utf-8")
        return super()._act(action)


class Deep(VaultEnv):
    """Raises at garbage, but only once the key is in hand."""

    def _act(self, action: str) -> Turn:
        if self.has_key:
            action.encode("utf-8")
        return super()._act(action)


class Endless(VaultEnv):
    """Never truncates."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._turn = min(self._turn, 2)
        return super().step(action)


class Undead(VaultEnv):
    """Goes on after the end."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._done = self.task is None
        return super().step(action)


class OnceClosed(VaultEnv):
    """Cannot be closed twice."""

    def __init__(self, card: EnvCard = CARD, render_mode: str | None = None) -> None:
        super().__init__(card, render_mode)
        self.held = ["a file"]

    def close(self) -> None:
        self.held.pop()


class Shortcut(VaultEnv):
    """One script solves every task, because the door is not locked."""

    def _act(self, action: str) -> Turn:
        if action == "open door":
            return Turn("It opens.", 1.0, True, 1.0, True)
        return super()._act(action)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        return super().baselines(seed) | {"script": FixedScript(["open door"])}


class Generous(VaultEnv):
    """Takes the agent's word that it is done."""

    def _act(self, action: str) -> Turn:
        if action == '{"done": true}':
            return Turn("Well done.", 1.0, True, 1.0, True)
        return super()._act(action)


class LastWord(VaultEnv):
    """The last action of any solution is enough."""

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        turn = super()._begin(task, rng)
        self.room = "hall"
        self.has_key = True
        return turn


class Obedient(VaultEnv):
    """Believes an action that names its reward."""

    def _act(self, action: str) -> Turn:
        if "reward" in action and "1.0" in action:
            return Turn("Noted.", 1.0, True, 1.0, True)
        return super()._act(action)


class Obliging(VaultEnv):
    """Formats actions, and so opens its insides to them."""

    def _act(self, action: str) -> Turn:
        turn = super()._act(action)
        return replace(turn, observation=action.format(self)) if "{0." in action else turn


class Overlapping(VaultEnv):
    """The test tasks are train tasks."""

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        return super()._begin(Task("train", task.index), rng)


class Littering(VaultEnv):
    """Writes its log where it stands."""

    def _act(self, action: str) -> Turn:
        Path("episode.log").write_text(action[:9], encoding="utf-8", errors="replace")
        return super()._act(action)


class Executing(VaultEnv):
    """Runs actions as code."""

    def _act(self, action: str) -> Turn:
        if action.startswith("__import__"):
            eval(action)
        return super()._act(action)


class Slow(VaultEnv):
    """Takes its time."""

    def _act(self, action: str) -> Turn:
        time.sleep(0.011)
        return super()._act(action)


class Unsolvable(VaultEnv):
    """Some doors do not open."""

    def _act(self, action: str) -> Turn:
        turn = super()._act(action)
        return self.turn("It is stuck.") if turn.success and self.number == 59 else turn


class PlantedInTest(VaultEnv):
    """The answer is in `info`, but only in the test split."""

    def turn(self, text: str, **details: object) -> Turn:
        assert self.task is not None
        return super().turn(text, **({"x": self.room} if self.task.split == "test" else {}))


class Choices(VaultEnv):
    """The right one of the choices that are shown is in `info`."""

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        turn = super()._begin(task, rng)
        return replace(turn, observation=f"{turn.observation} Rooms: {', '.join(ROOMS)}.")

    def turn(self, text: str, **details: object) -> Turn:
        return super().turn(text, best=self.room)


class Listing(VaultEnv):
    """No fault: what can be done is listed, and the colours among it are in `info`."""

    def turn(self, text: str, **details: object) -> Turn:
        actions = ("look", *(f"take {colour}" for colour in COLOURS), *(f"open {room}" for room in ROOMS))
        return replace(super().turn(text, **{"colours": COLOURS, **details}), admissible_actions=actions)


class Pointing(Listing):
    """The right one of the actions that are listed, though not the last one, is in `info`."""

    def turn(self, text: str, **details: object) -> Turn:
        return super().turn(text, debug=[self.colour.upper()])
