"""An environment that can be told to misbehave."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import gymnasium
import numpy as np

from molt_envs import ActionGrammar, AgentEnv, EnvCard, PolicyError, Task, Turn

ENV_ID = "toys/Misbehaving-v0"
CARD = EnvCard("toy", "Act.", ActionGrammar("anything", "go"), (0.0, 1.0), {"train": 100}, 5)


class Misbehaving(AgentEnv):
    def __init__(self, bounded: bool = False, render_mode: str | None = None) -> None:
        super().__init__(replace(CARD, bounded=bounded), render_mode)
        self._hoard: list[bytes] = []

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        return Turn(f"{task.task_id} {rng.integers(1000)} \ud800", details={"pid": os.getpid()})

    def _act(self, action: str) -> Turn:
        if action == "crash":
            os._exit(3)
        if action == "hang":
            time.sleep(1000)
        if action == "leak":
            self._hoard.append(b"x" * 300 * 2**20)
        if action == "fault":
            raise KeyError("lost")
        if action == "blame":
            raise PolicyError("your doing")
        if action == "secrets":
            return Turn(" ".join(sorted(os.environ)))
        if action == "odd":
            return Turn("odd", details={"odd": object()})
        return Turn(
            f"did {action}", reward=np.float64(0.5), success=np.bool_(True), admissible_actions=("go",)
        )


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:Misbehaving")
