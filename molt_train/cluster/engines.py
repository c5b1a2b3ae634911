"""A rollout engine in an actor, and the same seam in front of it.

In: turns and weights from the driver. Out: `Generation`s. An actor that is lost is made again, on another
node or when its own comes back, and gets the latest weights before it serves.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ray

from molt_train.cluster.calls import Lost, answer
from molt_train.cluster.launch import placed
from molt_train.config import Config
from molt_train.loop.actor import build_engine
from molt_train.rollout.engine import EngineError, EngineSession, Generation, Sampling
from molt_train.weight_sync import PublishedWeights, WeightReceiver

MAX_CONCURRENCY = 4096
"""Calls under way in one engine's actor."""


@dataclass(frozen=True)
class ShippedWeights(PublishedWeights):
    """Weights whose file lies on the learner's node, with its bytes in Ray's object store."""

    data: Any
    """Reference of a uint8 array: the file."""


class EngineActor:
    """Runs on its node; all methods on one event loop."""

    def __init__(self, config: Config, num_slots: int) -> None:
        self._engine = build_engine(config, num_slots)
        self._receiver = WeightReceiver()
        self._sessions: dict[int, EngineSession] = {}

    async def start(self) -> int:
        """Start the engine; gives its version."""
        await self._engine.start()
        return self._engine.policy_version

    async def open(self, number: int, order: int) -> None:
        """Begin an episode under the driver's number."""
        self._sessions[number] = self._engine.open_session(order)

    async def generate(self, number: int, prompt_ids: list[int], sampling: Sampling) -> Generation:
        """Sample one turn of it."""
        return await self._sessions[number].generate(prompt_ids, sampling)

    async def end(self, number: int) -> None:
        """End it."""
        session = self._sessions.pop(number, None)
        if session is not None:
            session.close()

    async def update(self, version: int, shapes: dict[str, tuple[int, ...]], data: Any) -> int:
        """Write the bytes to this node's shared memory and take them; gives the version served."""
        weights = await asyncio.to_thread(self._receiver.receive, version, shapes, data)
        await self._engine.update_weights(weights)
        return self._engine.policy_version


class RemoteEngine:
    """Implements `Engine` over an actor. Used on one event loop, after `connected`."""

    def __init__(self, config: Config, num_slots: int) -> None:
        self._config, self._num_slots = config, num_slots
        self._timeout_s = config.cluster.call_timeout_s
        self._policy_version = 0
        self._weights: PublishedWeights | None = None
        self._numbers = itertools.count()
        self._is_lost = False
        self._starting = asyncio.Lock()
        self._actor = self._make()

    @property
    def policy_version(self) -> int:
        """Version of the weights in use, as the actor last reported it."""
        return self._policy_version

    @property
    def max_context_tokens(self) -> int:
        """Most tokens of a prompt and its turn together."""
        return self._config.rollout.max_context_tokens

    async def start(self) -> None:
        """Wait for the actor; make it again if it is lost. Raises `EngineError`."""
        async with self._starting:
            if self._is_lost:
                ray.kill(self._actor)
                self._actor, self._is_lost = self._make(), False
            timeout_s = self._config.cluster.rejoin_timeout_s
            self._policy_version = await self._ask(
                "starting an engine", self._actor.start.remote(), timeout_s
            )
            if self._weights is not None and self._weights.version != self._policy_version:
                await self._load(self._weights)

    def open_session(self, order: int) -> RemoteSession:
        """Begin an episode; it stays with this actor."""
        number = next(self._numbers)
        self._actor.open.remote(number, order)
        return RemoteSession(self, self._actor, number)

    async def update_weights(self, weights: PublishedWeights) -> None:
        """See `Engine`; raises `EngineError` where the actor is lost."""
        self._weights = weights
        await self._load(weights)

    def close(self) -> None:
        """End the actor; idempotent."""
        ray.kill(self._actor)

    async def turn(
        self, actor: Any, number: int, prompt_ids: Sequence[int], sampling: Sampling
    ) -> Generation:
        """One turn of a session of that actor."""
        if actor is not self._actor or self._is_lost:
            raise EngineError("the engine that this episode began on is gone")
        reference = actor.generate.remote(number, list(prompt_ids), sampling)
        return await self._ask("a turn of an engine", reference, self._timeout_s)

    async def _load(self, weights: PublishedWeights) -> None:
        data = weights.data if isinstance(weights, ShippedWeights) else ray.put(file_bytes(weights.path))
        reference = self._actor.update.remote(weights.version, dict(weights.shapes), data)
        self._policy_version = await self._ask("an engine's update", reference, self._timeout_s)

    async def _ask(self, what: str, reference: Any, timeout_s: float) -> Any:
        try:
            return await answer(what, reference, timeout_s)
        except Lost as error:
            self._is_lost = True
            raise EngineError(str(error)) from error

    def _make(self) -> Any:
        options = placed(self._config.cluster, "engine")
        remote = ray.remote(EngineActor).options(max_concurrency=MAX_CONCURRENCY, **options)
        return remote.remote(self._config, self._num_slots)


class RemoteSession:
    """One episode's line to the actor; made by `RemoteEngine.open_session`."""

    def __init__(self, engine: RemoteEngine, actor: Any, number: int) -> None:
        self._engine, self._actor, self._number = engine, actor, number
        self._is_open = True

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        """Sample one turn; see `EngineSession`."""
        if not self._is_open:
            raise EngineError("the session is closed")
        return await self._engine.turn(self._actor, self._number, prompt_ids, sampling)

    def close(self) -> None:
        """End the episode, idempotent; a turn under way leaves the engine."""
        if self._is_open:
            self._is_open = False
            self._actor.end.remote(self._number)


def file_bytes(path: Path) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A file as an array, which Ray ships without a copy."""
    return np.fromfile(path, dtype=np.uint8)
