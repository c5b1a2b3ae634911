"""Two vLLM engines start beside each other: nothing that one took is given to the other."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed: make install-vllm")

from benchmarks.weight_sync import model_of
from molt_train.rollout.engine import Sampling
from molt_train.rollout.vllm.engine import VllmEngine

pytestmark = pytest.mark.real


def test_engines_side_by_side_say_the_same() -> None:
    """trl#3979: a port was chosen, released, and taken by another before its engine bound it."""

    async def both(folder: str) -> list[list[int]]:
        engines = [VllmEngine(folder, max_context_tokens=128, num_slots=2) for _ in range(2)]
        with contextlib.ExitStack() as stack:
            for engine in engines:
                stack.callback(engine.close)
            await asyncio.gather(*(engine.start() for engine in engines))
            turns = (engine.open_session(0).generate([5, 6, 7], Sampling(8, seed=1)) for engine in engines)
            return [turn.token_ids for turn in await asyncio.gather(*turns)]

    with model_of("tied") as (_, folder):
        first, second = asyncio.run(both(str(folder)))
    assert first == second
