"""Decides which turns run together: seats wait for slots, turns join the running batch, a thread computes.

In: turns of open seats, on the event loop. Out: their futures resolved. `TransformersEngine` has the rules.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from molt_train.rollout.engine import EngineError, Generation
from molt_train.rollout.slot_decoder import SlotDecoder
from molt_train.rollout.turn import Turn

_log = logging.getLogger(__name__)


@dataclass
class EngineCounts:
    """What an engine has done so far; a function of the episodes where scheduling is deterministic."""

    num_prefill_tokens: int = 0
    """Prompt ids computed."""
    num_reused_tokens: int = 0
    """Prompt ids found in the cache."""
    num_sampled_tokens: int = 0
    """Ids sampled."""
    num_admissions: int = 0
    """Times that waiting turns joined the batch."""
    num_decode_steps: int = 0
    """Forwards that took the running turns one id on."""
    num_wait_timeouts: int = 0
    """Sessions that a batch no longer waited for, because they stayed away too long."""


@dataclass(eq=False)
class Seat:
    """A session as the scheduler sees it."""

    order: int
    """Its place among the others."""
    slot: int | None = None
    """Its row of the cache; None while it queues for one."""
    cached_ids: list[int] = field(default_factory=list[int])
    """The ids whose keys and values lie in the slot."""
    turn: Turn | None = None
    """Its unfinished turn; without one the seat is away in its environment."""
    future: asyncio.Future[Generation] | None = None
    """Who waits for the turn."""
    is_late: bool = False
    """It stayed away too long; nobody waits for it until it asks again."""
    is_open: bool = True
    """It has not been closed."""

    @property
    def is_waiting(self) -> bool:
        """Its turn has not joined the batch."""
        return self.turn is not None and self.turn.slot is None


class BatchScheduler:
    """Runs on one event loop at a time; all but `_burst` and what it calls belongs to the loop's thread."""

    def __init__(
        self,
        decoder: SlotDecoder,
        num_slots: int,
        deterministic: bool,
        wait_timeout_s: float,
        admission_share: float,
    ) -> None:
        self.counts = EngineCounts()
        self.policy_version = 0
        self.seats: dict[int, Seat] = {}
        self._decoder = decoder
        self._deterministic = deterministic
        self._wait_timeout_s = wait_timeout_s
        self._admission_share = admission_share
        self._free_slots = list(range(num_slots))
        self._running: list[Seat] = []
        self._num_waiting = 0
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._broken: str | None = None
        self._was_interrupted = False
        self._is_changing = False
        self._computing = asyncio.Lock()
        self._done: deque[Seat] = deque()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="molt-engine")

    def open(self, order: int) -> Seat:
        """Add a seat at the end of the queue for slots."""
        seat = self.seats[order] = Seat(order)
        self._changed()
        return seat

    def submit(self, seat: Seat, turn: Turn) -> asyncio.Future[Generation]:
        """Queue a turn of a seat that has none; the future gives its result or an `EngineError`."""
        if self._broken is not None:
            raise EngineError(f"the engine has stopped: {self._broken}")
        loop = asyncio.get_running_loop()
        seat.turn, seat.future, seat.is_late = turn, loop.create_future(), False
        if self._task is None or self._task.done():
            self._wake = asyncio.Event()
            if not self._computing.locked():  # a lock belongs to the loop that first waited for it
                self._computing = asyncio.Lock()
            self._task = loop.create_task(self._run(), name="molt-engine")
            self._task.add_done_callback(self._ended)
        self._changed()
        return seat.future

    def withdraw(self, seat: Seat, reason: str) -> None:
        """Nobody waits for the turn any more: it leaves the queue now, or the batch at its next step."""
        if seat.turn is None:
            return
        if seat.future is not None and not seat.future.done():
            seat.future.set_exception(EngineError(reason))
        seat.turn.cancelled = True
        if seat.is_waiting:
            seat.turn = None
        self._changed()

    def close(self, seat: Seat) -> None:
        """Take the seat away; idempotent. Its slot is free once its turn has left the batch."""
        if not seat.is_open:
            return
        self.withdraw(seat, f"session {seat.order} was closed in the middle of a turn")
        seat.is_open = False
        del self.seats[seat.order]
        if seat.turn is None:
            self._vacate(seat)
        self._changed()

    async def change_weights(self, apply: Callable[[], None], policy_version: int) -> None:
        """Between two steps, `apply` in the engine's thread; then caches are dropped, and the turns of the
        batch join it again with what they have sampled.

        Raises:
            EngineError: `apply` failed, so the weights may be neither the old nor the new; the engine stops.
        """
        self._is_changing = True
        async with self._computing:
            change = asyncio.get_running_loop().run_in_executor(self._thread, apply)
            await asyncio.wait({change})
            self._is_changing = False
        error = change.exception()
        if error is not None:
            self._broken = f"its weights could not be changed: {type(error).__name__}: {error}"
            self._fail_batch(self._broken)
            raise EngineError(self._broken) from error
        self.policy_version = policy_version
        for seat in self._running:
            assert seat.turn is not None
            self._decoder.release(seat.turn.row)
            if seat.turn.is_done:  # cancelled
                self._done.append(seat)
            else:
                seat.turn.leave()
        self._running = []
        self._deliver()
        for seat in self.seats.values():
            seat.cached_ids = []

    def shutdown(self) -> None:
        """Close all seats and end the thread."""
        for seat in list(self.seats.values()):
            self.close(seat)
        self._broken = self._broken or "it was closed"
        self._thread.shutdown(wait=True)

    async def _run(self) -> None:
        if self._was_interrupted:
            # The loop before this one ended during a burst; its cancelled turns leave first.
            await asyncio.get_running_loop().run_in_executor(self._thread, _nothing)
            self._deliver()
            self._was_interrupted = False
        while self._has_work():
            admitted = await self._next_admission()
            if admitted or self._running:
                await self._compute(admitted)

    async def _next_admission(self) -> list[Seat]:
        """The seats whose turns join now; waits for those that are away where scheduling is deterministic."""
        while self._has_work():
            self._assign_slots()
            ready = [seat for seat in self._holders() if seat.is_waiting]
            away = [seat for seat in self._holders() if seat.turn is None and not seat.is_late]
            if (ready or self._running) and not (away and self._deterministic):
                return ready
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), self._wait_timeout_s)
            except TimeoutError:
                self._go_on_without(away)
        return []

    def _go_on_without(self, away: list[Seat]) -> None:
        for seat in away:
            seat.is_late = True
        if away:
            self.counts.num_wait_timeouts += len(away)
            orders = ", ".join(str(seat.order) for seat in away)
            _log.warning("sessions %s did not ask for a turn within %s s", orders, self._wait_timeout_s)

    async def _compute(self, admitted: list[Seat]) -> None:
        """One burst in the thread; if it fails, so does every turn of the batch."""
        loop = asyncio.get_running_loop()
        async with self._computing:
            admitted = [seat for seat in admitted if seat.is_waiting]
            self._join(admitted)
            num_holders = sum(not seat.is_late for seat in self._holders())
            burst = loop.run_in_executor(self._thread, self._burst, loop, admitted, num_holders)
            await asyncio.wait({burst})
            self._deliver()
        error = burst.exception()
        if error is not None:
            _log.error("a forward failed", exc_info=error)
            self._fail_batch(f"the engine's forward failed: {type(error).__name__}: {error}")

    def _join(self, admitted: list[Seat]) -> None:
        for seat in admitted:
            assert seat.turn is not None and seat.slot is not None
            seat.turn.join(seat.slot, seat.cached_ids)
            # Until the turn is over, what lies in the slot is the turn's to say.
            seat.cached_ids = []
            self.counts.num_reused_tokens += seat.turn.num_cached
            self.counts.num_prefill_tokens += len(seat.turn.prompt_ids) - seat.turn.num_cached
        self.counts.num_admissions += bool(admitted)
        self._running = sorted([*self._running, *admitted], key=lambda seat: seat.order)
        self._count_waiting()

    def _burst(self, loop: asyncio.AbstractEventLoop, admitted: list[Seat], num_holders: int) -> None:
        """Thread: pre-fill, then decode until turns may join; one step at least, so that all get on."""
        with self._decoder.computing():
            if admitted:
                self._decoder.prefill(_turns(admitted), self.policy_version)
                self.counts.num_sampled_tokens += len(admitted)
            self._release_done(loop)
            while self._running:
                self._decoder.step(_turns(self._running), self.policy_version)
                self.counts.num_decode_steps += 1
                self.counts.num_sampled_tokens += len(self._running)
                self._release_done(loop)
                if self._is_changing or self._may_admit(num_holders):
                    break

    def _may_admit(self, num_holders: int) -> bool:
        num_running = len(self._running)
        if self._deterministic:
            return num_running < num_holders and num_running <= self._admission_share * num_holders
        return self._num_waiting > 0 and num_running <= self._admission_share * (
            num_running + self._num_waiting
        )

    def _release_done(self, loop: asyncio.AbstractEventLoop) -> None:
        """Thread: finished turns leave the batch and are delivered on the loop, while the others go on.

        The last ones wait for the burst's end: who holds their results may use the model.
        """
        done = [seat for seat in self._running if seat.turn is None or seat.turn.is_done]
        if not done:
            return
        self._running = [seat for seat in self._running if seat not in done]
        for turn in _turns(done):
            self._decoder.release(turn.row)
        self._done.extend(done)
        if self._running:
            loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        while self._done:
            seat = self._done.popleft()
            turn, future, seat.turn, seat.future = seat.turn, seat.future, None, None
            assert turn is not None
            seat.cached_ids = turn.computed_ids()
            if future is not None and not future.done():
                future.set_result(turn.generation())
            if not seat.is_open:
                self._vacate(seat)
        self._changed()

    def _fail_batch(self, reason: str) -> None:
        failed, self._running = self._running, []
        for seat in failed:
            if seat.slot is not None:
                self._decoder.release(seat.slot)
            if seat.future is not None and not seat.future.done():
                seat.future.set_exception(EngineError(reason))
            seat.turn, seat.future, seat.cached_ids = None, None, []
            if not seat.is_open:
                self._vacate(seat)
        self._changed()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """By itself when nothing waits, cancelled with its loop, or by an error that stops the engine."""
        if task.cancelled():
            self._was_interrupted = True
            reason = "the event loop ended in the middle of a turn"
        elif task.exception() is not None:
            self._broken = reason = f"{type(task.exception()).__name__}: {task.exception()}"
        else:
            return
        for seat in self.seats.values():
            self.withdraw(seat, reason)

    def _assign_slots(self) -> None:
        for seat in self._in_order():
            if not self._free_slots:
                return
            if seat.slot is None and (self._deterministic or seat.is_waiting):
                seat.slot = self._free_slots.pop(0)

    def _vacate(self, seat: Seat) -> None:
        if seat.slot is not None:
            self._free_slots = sorted([*self._free_slots, seat.slot])
            seat.slot = None

    def _in_order(self) -> list[Seat]:
        return sorted(self.seats.values(), key=lambda seat: seat.order)

    def _holders(self) -> list[Seat]:
        return [seat for seat in self._in_order() if seat.slot is not None]

    def _has_work(self) -> bool:
        return bool(self._running) or any(seat.turn is not None for seat in self.seats.values())

    def _changed(self) -> None:
        self._count_waiting()
        self._wake.set()

    def _count_waiting(self) -> None:
        """How many turns could join the batch now; the thread reads it between steps."""
        waiting = [seat for seat in self.seats.values() if seat.is_waiting]
        seated = sum(seat.slot is not None for seat in waiting)
        self._num_waiting = seated + min(len(waiting) - seated, len(self._free_slots))


def _nothing() -> None:
    """A job whose end says that the thread is through with those before it."""


def _turns(seats: list[Seat]) -> list[Turn]:
    return [seat.turn for seat in seats if seat.turn is not None]
