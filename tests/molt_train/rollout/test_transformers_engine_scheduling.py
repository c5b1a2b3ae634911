"""Who runs together and when: determinism, queues, time-outs, failures. Nothing hangs."""

from __future__ import annotations

import asyncio
import random
import time

import pytest
import torch

from molt_train.rollout.engine import EngineError, Generation, Sampling
from molt_train.rollout.slot_decoder import SlotDecoder
from molt_train.rollout.transformers_engine import TransformersEngine
from molt_train.rollout.turn import Turn
from tests.molt_train.rollout.tiny_models import VOCAB_SIZE, tiny_model


async def play(engine: TransformersEngine, order: int, delays: random.Random) -> list[Generation]:
    """Three turns whose prompts depend on `order` alone and whose timing is `delays`'."""
    draw = random.Random(order)
    session = engine.open_session(order)
    context, turns = [order % VOCAB_SIZE, 3], []
    for turn in range(3):
        await asyncio.sleep(delays.random() * 0.004)
        generation = await session.generate(context, Sampling(draw.randrange(1, 9), seed=order * 3 + turn))
        turns.append(generation)
        context = [*context, *generation.token_ids, draw.randrange(VOCAB_SIZE)]
    session.close()
    return turns


class BatchLog(SlotDecoder):
    """A decoder that writes down which slots and prompts each forward holds."""

    log: list[tuple[str, list[tuple[int, int]]]]

    def prefill(self, turns: list[Turn], policy_version: int) -> None:
        self.log.append(("prefill", [(turn.row, turn.num_tokens) for turn in turns]))
        super().prefill(turns, policy_version)

    def step(self, turns: list[Turn], policy_version: int) -> None:
        self.log.append(("step", [(turn.row, turn.num_tokens) for turn in turns]))
        super().step(turns, policy_version)


def batches(
    engine: TransformersEngine, num_episodes: int, seed: int
) -> list[tuple[str, list[tuple[int, int]]]]:
    decoder = engine._scheduler._decoder
    decoder.__class__ = BatchLog
    assert isinstance(decoder, BatchLog)
    decoder.log = []

    async def run() -> None:
        delays = random.Random(seed)
        await asyncio.gather(*(play(engine, order, delays) for order in range(num_episodes)))

    asyncio.run(run())
    return decoder.log


@pytest.mark.parametrize("admission_share", [0.0, 0.5, 0.9])
def test_batches_are_a_function_of_the_episodes_not_of_timing(admission_share: float) -> None:
    logs = [
        batches(
            TransformersEngine(
                tiny_model(), num_slots=4, max_context_tokens=100, admission_share=admission_share
            ),
            num_episodes=9,
            seed=seed,
        )
        for seed in range(3)
    ]
    assert logs[0] == logs[1] == logs[2]


def test_without_determinism_all_episodes_end_too() -> None:
    model = tiny_model()
    engine = TransformersEngine(model, num_slots=4, max_context_tokens=100, deterministic=False)
    kept = TransformersEngine(model, num_slots=4, max_context_tokens=100)

    async def run(engine: TransformersEngine) -> list[list[list[int]]]:
        episodes = await asyncio.gather(*(play(engine, order, random.Random(0)) for order in range(9)))
        return [[turn.token_ids for turn in turns] for turns in episodes]

    assert asyncio.run(run(engine)) == asyncio.run(run(kept))


def test_without_determinism_nobody_waits_for_a_session_that_is_away() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=2, max_context_tokens=100, deterministic=False)

    async def run() -> None:
        engine.open_session(0)
        await asyncio.wait_for(engine.open_session(1).generate([3], Sampling(2)), 5)

    asyncio.run(run())
    assert engine.counts.num_wait_timeouts == 0


def test_a_session_that_stays_away_is_waited_for_once_and_named(caplog: pytest.LogCaptureFixture) -> None:
    engine = TransformersEngine(tiny_model(), num_slots=2, max_context_tokens=100, wait_timeout_s=0.2)

    async def run() -> Generation:
        away, here = engine.open_session(7), engine.open_session(8)
        start = time.perf_counter()
        await here.generate([3], Sampling(2))
        assert time.perf_counter() - start >= 0.2
        start = time.perf_counter()
        await here.generate([3, 4], Sampling(2))
        assert time.perf_counter() - start < 0.2
        here.close()
        return await away.generate([3], Sampling(2))

    assert len(asyncio.run(run()).token_ids) == 2
    assert engine.counts.num_wait_timeouts == 1
    assert "sessions 7 did not ask for a turn within 0.2 s" in caplog.text


def test_sessions_queue_for_slots_by_order() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=100)
    ended: list[int] = []

    async def one(order: int) -> None:
        session = engine.open_session(order)
        await session.generate([3], Sampling(2))
        ended.append(order)
        session.close()

    async def run() -> None:
        await asyncio.gather(*(one(order) for order in (5, 2, 9, 1)))

    asyncio.run(run())
    assert ended == [1, 2, 5, 9]


def test_a_turn_that_gets_no_slot_ends_with_an_error_that_says_so() -> None:
    engine = TransformersEngine(
        tiny_model(), num_slots=1, max_context_tokens=100, wait_timeout_s=0.05, turn_timeout_s=0.3
    )

    async def run() -> None:
        holder = engine.open_session(0)
        await holder.generate([3], Sampling(1))
        queued = engine.open_session(1)
        with pytest.raises(EngineError, match=r"session 1 got no turn within 0.3 s; it was queued"):
            await queued.generate([3], Sampling(1))
        holder.close()
        assert len((await queued.generate([3], Sampling(1))).token_ids) == 1

    asyncio.run(run())


def test_a_cancelled_turn_leaves_the_batch_and_its_slot_is_used_again() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=250)

    async def run() -> None:
        session = engine.open_session(0)
        task = asyncio.create_task(session.generate([3], Sampling(240)))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        session.close()
        turn = await asyncio.wait_for(engine.open_session(1).generate([3], Sampling(2)), 5)
        assert len(turn.token_ids) == 2

    asyncio.run(run())


def test_a_session_closed_in_the_middle_of_a_turn_fails_that_turn_only() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=2, max_context_tokens=250)

    async def run() -> None:
        first, second = engine.open_session(0), engine.open_session(1)
        doomed = asyncio.create_task(first.generate([3], Sampling(200)))
        fine = asyncio.create_task(second.generate([4], Sampling(30)))
        await asyncio.sleep(0.01)
        first.close()
        with pytest.raises(EngineError, match="session 0 was closed in the middle of a turn"):
            await doomed
        assert len((await fine).token_ids) == 30
        with pytest.raises(EngineError, match="session 0 is closed"):
            await first.generate([3], Sampling(1))

    asyncio.run(run())


def test_a_failed_forward_fails_its_turns_with_its_text_and_the_engine_goes_on() -> None:
    model = tiny_model()
    engine = TransformersEngine(model, num_slots=2, max_context_tokens=100)
    broken = [True]

    def fail(module: torch.nn.Module, args: object) -> None:
        if broken[0]:
            raise RuntimeError("no memory left for this")

    model.register_forward_pre_hook(fail)

    async def run() -> None:
        sessions = [engine.open_session(order) for order in range(3)]
        turns = await asyncio.gather(
            *(session.generate([3, 4], Sampling(3)) for session in sessions[:2]), return_exceptions=True
        )
        for turn in turns:
            assert isinstance(turn, EngineError)
            assert "RuntimeError: no memory left for this" in str(turn)
        broken[0] = False
        sessions[1].close()
        sessions[2].close()
        assert len((await sessions[0].generate([3, 4], Sampling(3))).token_ids) == 3

    asyncio.run(run())


def test_weights_that_are_not_numbers_are_an_error() -> None:
    model = tiny_model()
    with torch.no_grad():
        model.get_output_embeddings().weight.fill_(torch.nan)
    engine = TransformersEngine(model, num_slots=1, max_context_tokens=100)
    with pytest.raises(EngineError, match="are its weights finite"):
        asyncio.run(engine.open_session(0).generate([3], Sampling(3)))


def test_the_event_loop_is_served_while_the_model_computes() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=250)

    async def run() -> int:
        task = asyncio.create_task(engine.open_session(0).generate([3], Sampling(240)))
        num_ticks = 0
        while not task.done():
            await asyncio.sleep(0.001)
            num_ticks += 1
        await task
        return num_ticks

    assert asyncio.run(run()) > 20


def test_one_turn_at_a_time_and_orders_are_unique() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=100)

    async def run() -> None:
        session = engine.open_session(3)
        with pytest.raises(ValueError, match="order 3 is open"):
            engine.open_session(3)
        task = asyncio.create_task(session.generate([3], Sampling(5)))
        await asyncio.sleep(0)
        with pytest.raises(EngineError, match="session 3 is in a turn"):
            await session.generate([3], Sampling(5))
        await task
        session.close()
        session.close()
        engine.open_session(3)

    asyncio.run(run())


def test_a_closed_engine_says_so_and_leaves_no_thread() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=100)

    async def run() -> None:
        session = engine.open_session(0)
        await session.generate([3], Sampling(1))
        engine.close()
        engine.close()
        with pytest.raises(EngineError, match="has stopped: it was closed"):
            await engine.open_session(1).generate([3], Sampling(1))

    asyncio.run(run())
    assert not engine._scheduler._thread._threads or all(
        not thread.is_alive() for thread in engine._scheduler._thread._threads
    )


def test_an_event_loop_that_ends_in_the_middle_of_a_turn_leaves_a_working_engine() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=250)

    async def interrupted() -> None:
        session = engine.open_session(0)
        task = asyncio.create_task(session.generate([3], Sampling(240)))
        await asyncio.sleep(0.02)
        assert not task.done()
        session.close()

    async def again() -> int:
        session = engine.open_session(1)
        turn = await session.generate([3], Sampling(4))
        session.close()
        return len(turn.token_ids)

    for _ in range(3):
        asyncio.run(interrupted())
        assert asyncio.run(again()) == 4
