"""An environment that does what it is told, good or bad, and a scripted policy that tells it.

In: actions such as `win`, `wait`, `crash`. Out: the turn, the error or the delay of that name.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from molt_envs import ActionGrammar, AgentEnv, ByteRenderer, EnvCard, Episode, History, Task, TokenEnv, Turn
from molt_envs.errors import PolicyError
from molt_envs.policy import Policy
from molt_train.rollout.engine import Sampling
from molt_train.rollout.episode import EpisodeRequest
from molt_train.rollout.runner import OnEpisode, RolloutRunner
from molt_train.rollout.scripted_engine import ScriptedEngine

RENDERER = ByteRenderer()
END = RENDERER.stop_ids[0]
BAD_RESET = 19
HANG_S = 0.4
CARD = EnvCard(
    summary="Does what it is told",
    system_prompt="Say a word.",
    grammar=ActionGrammar("a word", "win"),
    reward_range=(-1.0, 1.0),
    splits={"train": 20},
    max_turns=3,
    bounded=True,
)


class ProbeEnv(AgentEnv):
    """Writes down what it was asked and in which thread."""

    def __init__(self, card: EnvCard = CARD) -> None:
        super().__init__(card)
        self.acted: list[str] = []
        self.threads: set[int] = {threading.get_ident()}
        self.num_closed = 0

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self.threads.add(threading.get_ident())
        if task.index == BAD_RESET:
            raise RuntimeError("the door is locked")
        return Turn(f"room {task.index}", state_key="start")

    def _act(self, action: str) -> Turn:
        self.threads.add(threading.get_ident())
        self.acted.append(action)
        match action:
            case "win":
                return Turn("won", reward=1.0, terminated=True, score=1.0, success=True)
            case "crash":
                raise RuntimeError("the floor is gone")
            case "blame":
                raise PolicyError("that move is forbidden")
            case "hang":
                time.sleep(HANG_S)
            case "nan":
                return Turn("broken", terminated=True, score=math.nan)
            case "rich":
                return Turn("too much", reward=7.0)
        return Turn(f"after {action}", reward=0.25, score=0.5, state_key=action)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy | None:
        return _Oracle()

    def close(self) -> None:
        self.threads.add(threading.get_ident())
        self.num_closed += 1


class _Oracle:
    """Waits once, then wins."""

    def __init__(self) -> None:
        self._turn = 0

    def act(self, observation: str, info: Mapping[str, object]) -> str:
        self._turn += 1
        return "wait" if self._turn == 1 else "win"


class Probes:
    """Builds environments and keeps them for a look afterwards."""

    def __init__(self, card: EnvCard = CARD, history: History | None = None) -> None:
        self._card, self._history = card, history
        self.built: list[ProbeEnv] = []

    def __call__(self) -> TokenEnv:
        self.built.append(ProbeEnv(self._card))
        return TokenEnv(self.built[-1], RENDERER, self._history)


def scripted(words: Mapping[int, Sequence[str]], max_context_tokens: int = 4096) -> ScriptedEngine:
    """Says `words[task]` turn by turn; it finds the task's number in the prompt."""

    def script(prompt_ids: Sequence[int], turn: int) -> list[int]:
        text = bytes(i for i in prompt_ids if i < 256).decode()
        said = words[int(text.partition("room ")[2][:2].strip().rstrip("abcdefghijklmnopqrstuvwxyz"))][turn]
        return [*said.encode(), END]

    return ScriptedEngine(script, max_context_tokens, logprob=-0.5)


def request(index: int, order: int = 0) -> EpisodeRequest:
    return EpisodeRequest(f"e{order}", "molt-tests/Probe-v0", f"train:{index}", f"g{index}", 7 + order)


SAMPLING = Sampling(max_tokens=16, stop_ids=(END,))


def play(
    words: Mapping[int, Sequence[str]],
    *,
    num_slots: int = 4,
    probes: Probes | None = None,
    engine: ScriptedEngine | None = None,
    sampling: Sampling = SAMPLING,
    env_timeout_s: float = 10.0,
    on_episode: OnEpisode | None = None,
) -> list[Episode]:
    """Run one episode for each key of `words`, in the order given."""
    engine = engine or scripted(words)
    with RolloutRunner(engine, probes or Probes(), num_slots, env_timeout_s) as runner:
        requests = [request(index, order) for order, index in enumerate(words)]
        return asyncio.run(runner.run(requests, sampling, on_episode))


def play_one(
    *said: str, max_tokens: int = 16, max_context_tokens: int = 4096, probes: Probes | None = None
) -> Episode:
    """One episode of task 3 in which the policy says these words."""
    engine = scripted({3: said}, max_context_tokens)
    return play({3: said}, engine=engine, probes=probes, sampling=replace(SAMPLING, max_tokens=max_tokens))[0]
