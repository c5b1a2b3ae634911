"""The scripted engine says its script, cut where a model's turn would be cut."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from molt_train.rollout.engine import Engine, EngineError, Generation, PromptTooLong, Sampling
from molt_train.rollout.scripted_engine import ScriptedEngine


def script(prompt_ids: Sequence[int], turn: int) -> list[int]:
    return [turn + 10, len(prompt_ids), 1]


def say(engine: Engine, prompts: list[list[int]], sampling: Sampling) -> list[Generation]:
    async def run() -> list[Generation]:
        session = engine.open_session(0)
        turns = [await session.generate(prompt_ids, sampling) for prompt_ids in prompts]
        session.close()
        session.close()
        return turns

    return asyncio.run(run())


def test_turns_are_counted_by_session_and_see_the_prompt() -> None:
    engine = ScriptedEngine(script, logprob=-0.5)
    engine.weights_updated(4)
    turns = say(engine, [[5], [5, 6]], Sampling(8, stop_ids=(1,)))
    assert turns[0] == Generation([10, 1], [-0.5] * 2, [4] * 2, "stop")
    assert turns[1].token_ids == [11, 2, 1]


def test_a_turn_is_cut_at_its_limit_and_at_the_context() -> None:
    assert say(ScriptedEngine(script), [[5, 5]], Sampling(2, stop_ids=(1,)))[0].stop_reason == "length"
    cut = say(ScriptedEngine(script, max_context_tokens=3), [[5, 5]], Sampling(8, stop_ids=(1,)))[0]
    assert (cut.token_ids, cut.stop_reason) == ([10], "length")
    with pytest.raises(PromptTooLong):
        say(ScriptedEngine(script, max_context_tokens=2), [[5, 5]], Sampling(8))


def test_a_script_that_neither_stops_nor_fills_the_turn_is_an_error() -> None:
    with pytest.raises(EngineError, match="3 ids, no stop id"):
        say(ScriptedEngine(script), [[5, 5]], Sampling(8))


def test_orders_are_unique_and_closed_sessions_are_closed() -> None:
    engine = ScriptedEngine(script)
    session = engine.open_session(2)
    with pytest.raises(ValueError, match="order 2"):
        engine.open_session(2)
    session.close()
    with pytest.raises(EngineError, match="closed"):
        asyncio.run(session.generate([5], Sampling(8)))
