"""Environments and policies that the tests of evaluation share."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest

from molt_envs import AgentEnv, EnvEntry, FixedScript, Policy, PolicyError, Task, Turn, registry
from molt_envs.evaluate.policy import ChatPolicy, ContextFull, EpisodeStart, PolicySource, Reply
from tests.molt_envs.toy import CARD, TOY_ID, WORDS, register_toy

TROUBLE_ID = "molt-tests/Trouble-v0"


class TroubleEnv(AgentEnv):
    """An action says what goes wrong."""

    def __init__(self) -> None:
        super().__init__(CARD)

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        return Turn(task.task_id)

    def _act(self, action: str) -> Turn:
        if action == "policy":
            raise PolicyError("it broke the rules")
        if action == "crash":
            raise OSError("no disk")
        if action == "hang":
            time.sleep(1.5)
        return Turn("done", reward=1.0, terminated=True, score=1.0, success=True)


class Winner:
    """Knows the secret of every task of the toy."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        return WORDS[int(observation.partition("?")[0].split(":")[1])]


class Chatter(ChatPolicy):
    """Says what it was given, with token counts; `CUT` is a cut message, `FULL` a full context."""

    def __init__(self, *words: str) -> None:
        self._words = list(words)

    def reply(self, observation: str, info: Mapping[str, Any]) -> Reply:
        word = self._words.pop(0)
        if word == "FULL":
            raise ContextFull
        return Reply(word, f"I say {word}", 10, 3, was_cut=word == "CUT")


class Says(PolicySource):
    """Every episode gets a policy that says these words."""

    def __init__(self, *words: str, chat: bool = False) -> None:
        self._words, self._chat = words, chat

    def start(self, start: EpisodeStart) -> Policy:
        return Chatter(*self._words) if self._chat else FixedScript(self._words)


def winner() -> Winner:
    return Winner()


def script(start: EpisodeStart) -> FixedScript:
    return FixedScript([start.card.grammar.example])


def two(first: int, second: int) -> FixedScript:
    return FixedScript([str(first + second)])


SHARED = Winner()
NO_POLICY = 3


def know_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toys, registered and known to the hub while a test runs."""
    register_toy()
    classes = {TOY_ID: "tests.molt_envs.toy:ToyEnv", TROUBLE_ID: "tests.molt_envs.evaluate.toys:TroubleEnv"}
    if TROUBLE_ID not in gymnasium.registry:
        gymnasium.register(TROUBLE_ID, entry_point=classes[TROUBLE_ID])
    for env_id, entry in classes.items():
        monkeypatch.setitem(registry._entries, env_id, EnvEntry(env_id, entry, "a toy", "tests"))
