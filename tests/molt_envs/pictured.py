"""A small environment with images for the hub's tests: say how bright the picture is."""

from __future__ import annotations

from typing import Any

import numpy as np

from molt_envs import IMAGE_METADATA, ActionGrammar, AgentEnv, EnvCard, FixedScript, Policy, Task, Turn
from molt_envs.protocol.images import Pixels

SIZE = (4, 6)
CARD = EnvCard(
    summary="Say how bright the picture is",
    system_prompt="Say a number.",
    grammar=ActionGrammar("a number", "7"),
    reward_range=(0.0, 1.0),
    splits={"train": 100, "test": 60},
    max_turns=3,
    image_size=SIZE,
)


class PicturedEnv(AgentEnv):
    """The brightness depends on the task; after a wrong answer nothing is shown."""

    metadata = IMAGE_METADATA

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(CARD, render_mode)

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._value = 1 + task.index if task.split == "train" else 101 + task.index
        return Turn(self._text(), image=self._picture())

    def _text(self) -> str:
        return "How bright?"

    def _picture(self) -> Pixels:
        return np.full((*SIZE, 3), self._value, np.uint8)

    def _act(self, action: str) -> Turn:
        if action == str(self._value):
            return Turn("Yes.", 1.0, terminated=True, score=1.0, success=True)
        return Turn("No.")

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy:
        """Knows it."""
        return FixedScript([str(self._value)])

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """Guesses."""
        return super().baselines(seed) | {"blind": FixedScript(["50"])}


class Telling(PicturedEnv):
    """The text tells what the picture shows; every tenth task is alike, so that texts repeat."""

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        super()._begin(task, rng)
        self._value = self._value // 10 * 10
        return Turn(f"It looks like the {self._value // 10 * 'very '}bright one.", image=self._picture())


class Unblinded(PicturedEnv):
    """Has no blind baseline."""

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """All but one."""
        return {name: policy for name, policy in super().baselines(seed).items() if name != "blind"}


class Misshapen(PicturedEnv):
    """Shows another size than it declares."""

    def _picture(self) -> Any:
        return np.ones((6, 4, 3), np.uint8)
