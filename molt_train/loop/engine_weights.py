"""How an update reaches the engine.

In: the learner after a step. Out: an engine that samples with its weights and says so.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from molt_train.loop.learner_client import LearnerClient
from molt_train.rollout.engine import Engine, EngineError
from molt_train.rollout.transformers_engine import TransformersEngine

TIMEOUT_S = 900.0
"""For an engine to take new weights, turns under way included."""


class EngineWeights(Protocol):
    """Brings the learner's weights to the engine."""

    async def push(self) -> None:
        """After it the engine serves the learner's version."""
        ...


class SharedWeights:
    """Engine and learner hold one model: nothing moves, and no turn may be under way."""

    def __init__(self, engine: TransformersEngine, learner: LearnerClient) -> None:
        self._engine, self._learner = engine, learner

    async def push(self) -> None:
        """Drop what the engine cached."""
        self._engine.weights_updated(self._learner.policy_version)


class PublishedCopies:
    """The engine holds a copy, and turns go on with it."""

    def __init__(self, engine: Engine, learner: LearnerClient) -> None:
        self._engine, self._learner = engine, learner

    async def push(self) -> None:
        """Publish, update, and compare the version that the engine reports.

        Raises:
            EngineError: the engine did not take them in time, or reports another version.
        """
        weights = await self._learner.publish()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._engine.update_weights(weights)
        except TimeoutError as error:
            raise EngineError(
                f"the engine did not take the weights of version {weights.version} within {TIMEOUT_S} s"
            ) from error
        if self._engine.policy_version != weights.version:
            raise EngineError(
                f"the engine serves version {self._engine.policy_version}, not {weights.version}"
            )
