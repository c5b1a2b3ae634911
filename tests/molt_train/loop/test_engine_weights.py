"""New weights arrive at the engine, or the run is told which wait failed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from molt_train.loop import engine_weights
from molt_train.loop.engine_weights import PublishedCopies
from molt_train.rollout.engine import EngineError
from molt_train.rollout.scripted_engine import ScriptedEngine
from molt_train.weight_sync import PublishedWeights


class Learner:
    """Publishes version 3."""

    policy_version = 3

    async def publish(self) -> PublishedWeights:
        return PublishedWeights(3, Path("none"), {})


class Deaf(ScriptedEngine):
    """Never takes weights."""

    async def update_weights(self, weights: PublishedWeights) -> None:
        await asyncio.sleep(60)


class Liar(ScriptedEngine):
    """Says that it took them."""

    async def update_weights(self, weights: PublishedWeights) -> None:
        pass


def push(engine: ScriptedEngine) -> None:
    learner: Any = Learner()
    asyncio.run(PublishedCopies(engine, learner).push())


def test_the_engine_serves_the_learners_version() -> None:
    engine = ScriptedEngine(lambda ids, turn: [1])
    push(engine)
    assert engine.policy_version == 3


def test_a_sync_that_hangs_names_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """trl#6797, #7103: weight sync hung without a word."""
    monkeypatch.setattr(engine_weights, "TIMEOUT_S", 0.05)
    with pytest.raises(EngineError, match=r"did not take the weights of version 3 within 0\.05 s"):
        push(Deaf(lambda ids, turn: [1]))


def test_an_engine_that_goes_on_with_old_weights_is_noticed() -> None:
    """NeMo-Agent-Toolkit#1649: rollouts hit the base model, not what was trained."""
    with pytest.raises(EngineError, match="serves version 0, not 3"):
        push(Liar(lambda ids, turn: [1]))
