"""Where sessions go, which weights engines have, and what becomes of one that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from molt_train.rollout.engine import EngineError, Generation, PromptTooLong, Sampling
from molt_train.rollout.router import EngineRouter
from molt_train.weight_sync import PublishedWeights

SAMPLING = Sampling(4)


class Fake:
    """An engine that can be broken; it says its name as the token."""

    def __init__(self, name: int, max_context_tokens: int = 100) -> None:
        self.name, self.max_context_tokens = name, max_context_tokens
        self.policy_version = 0
        self.is_broken = False
        self.can_start = asyncio.Event()
        self.can_start.set()
        self.num_starts = self.num_closed = 0
        self.lies = False

    async def start(self) -> None:
        self.num_starts += 1
        if self.is_broken:
            if not self.can_start.is_set():
                raise EngineError("no machine")
            self.is_broken, self.policy_version = False, 0

    def open_session(self, order: int) -> FakeSession:
        return FakeSession(self)

    async def update_weights(self, weights: PublishedWeights) -> None:
        if self.is_broken:
            raise EngineError("gone")
        self.policy_version = 0 if self.lies else weights.version

    def close(self) -> None:
        self.num_closed += 1


class FakeSession:
    def __init__(self, engine: Fake) -> None:
        self.engine = engine

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        if len(prompt_ids) > 50:
            raise PromptTooLong("too long")
        if self.engine.is_broken:
            raise EngineError("gone")
        return Generation([self.engine.name], [0.0], [self.engine.policy_version], "stop")

    def close(self) -> None:
        pass


def weights(version: int) -> PublishedWeights:
    return PublishedWeights(version, Path("none"), {})


async def said(router: EngineRouter, order: int = 0) -> int:
    session = router.open_session(order)
    try:
        return (await session.generate([1], SAMPLING)).token_ids[0]
    finally:
        session.close()


def test_an_episode_stays_and_new_ones_go_to_the_least_busy() -> None:
    async def main() -> None:
        router = EngineRouter([Fake(0), Fake(1)])
        sessions = [router.open_session(order) for order in range(3)]
        for _ in range(2):
            turns = [(await session.generate([1], SAMPLING)).token_ids[0] for session in sessions]
            assert turns == [0, 1, 0]
        sessions[0].close()
        sessions[0].close()
        sessions[2].close()
        assert [await said(router), await said(router)] == [0, 0]

    asyncio.run(main())


def test_a_failed_engine_is_left_out_and_comes_back_with_the_latest_weights() -> None:
    async def main() -> None:
        engines = [Fake(0), Fake(1)]
        router = EngineRouter(engines)
        await router.start()
        await router.update_weights(weights(1))
        engines[0].is_broken = True
        engines[0].can_start.clear()
        with pytest.raises(EngineError, match="gone"):
            await said(router)
        assert [await said(router) for _ in range(3)] == [1, 1, 1]
        await router.update_weights(weights(2))
        assert router.policy_version == 2
        engines[0].can_start.set()
        async with asyncio.timeout(10):
            while await said(router) != 0:
                await asyncio.sleep(0.05)
        assert engines[0].policy_version == 2 and router.policy_version == 2
        router.close()

    asyncio.run(main())


def test_where_all_failed_an_update_and_a_turn_wait_for_the_first() -> None:
    async def main() -> None:
        engine = Fake(0)
        router = EngineRouter([engine])
        engine.is_broken = True
        async with asyncio.timeout(10):
            await router.update_weights(weights(3))
            assert await said(router) == 0
        assert router.policy_version == engine.policy_version == 3

    asyncio.run(main())


def test_an_engine_that_does_not_come_back_stops_the_run() -> None:
    async def main() -> None:
        engine = Fake(0)
        router = EngineRouter([engine], restart_timeout_s=0.01)
        engine.is_broken = True
        engine.can_start.clear()
        with pytest.raises(EngineError, match=r"engine 0 was not back within 0\.01 s: no machine"):
            await router.update_weights(weights(1))

    asyncio.run(main())


def test_a_version_that_was_not_taken_is_an_error() -> None:
    async def main() -> None:
        engine = Fake(0)
        engine.lies = True
        with pytest.raises(EngineError, match="engine 0 serves version 0, not 5"):
            await EngineRouter([engine]).update_weights(weights(5))

    asyncio.run(main())


def test_a_prompt_that_is_too_long_is_the_episodes_fault() -> None:
    async def main() -> None:
        engine = Fake(0)
        router = EngineRouter([engine, Fake(1, 80)])
        assert router.max_context_tokens == 80
        with pytest.raises(PromptTooLong):
            await router.open_session(0).generate([1] * 60, SAMPLING)
        assert engine.num_starts == 0
        router.close()
        assert engine.num_closed == 1

    asyncio.run(main())


def test_a_router_needs_an_engine() -> None:
    with pytest.raises(ValueError, match="without engines"):
        EngineRouter([])
