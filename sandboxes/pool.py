"""A pool of warm sandboxes: in, how to open one, and how many may be open; out, a fresh one for each `with`.

A sandbox is used once and closed; its place is free again on every path, also when opening or closing raises.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Self

from sandboxes.base import Sandbox, SandboxError

CLOSE_TIMEOUT_S = 60.0


class _Request:
    """What one asyncio borrower waits for; changed under the pool's lock."""

    sandbox: Sandbox | None = None
    is_abandoned = False


class SandboxPool:
    """At most `num_open` sandboxes at once, lent and warm ones together; up to `num_warm` wait ready."""

    def __init__(self, open_one: Callable[[], Sandbox], *, num_open: int, num_warm: int = 0) -> None:
        if not 0 <= num_warm <= num_open or num_open < 1:
            raise ValueError(
                f"num_open={num_open}, num_warm={num_warm}; give 1 or more, no more warm than open"
            )
        self._open_one = open_one
        self._num_open, self._num_warm = num_open, num_warm
        self._condition = threading.Condition()
        self._warm: deque[Sandbox] = deque()
        self._num_places_taken = 0
        self._is_closed = False
        self._filler = threading.Thread(target=self._fill, name="sandbox-pool", daemon=True)
        if num_warm:
            self._filler.start()

    @property
    def num_free(self) -> int:
        """Places that are neither lent nor warm nor being opened."""
        with self._condition:
            return self._num_open - self._num_places_taken

    @contextmanager
    def lend(self, timeout_s: float = 60.0) -> Generator[Sandbox]:
        """A fresh sandbox until the end of `with`; TimeoutError when no place is free by then."""
        sandbox = self._acquire(timeout_s)
        try:
            yield sandbox
        finally:
            self._release(sandbox)

    @asynccontextmanager
    async def lend_async(self, timeout_s: float = 60.0) -> AsyncGenerator[Sandbox]:
        """The same for asyncio: opening and closing happen in threads; the sandbox's calls block."""
        request = _Request()
        try:
            await asyncio.to_thread(self._acquire_for, request, timeout_s)
        except asyncio.CancelledError:  # the thread goes on: what it acquires is nobody's
            self._abandon(request)
            raise
        assert request.sandbox is not None
        try:
            yield request.sandbox
        finally:  # a thread of its own closes it, whatever becomes of the event loop
            closing = threading.Thread(target=self._release, args=(request.sandbox,), name="sandbox-close")
            closing.start()
            await asyncio.to_thread(closing.join, CLOSE_TIMEOUT_S)

    def close(self) -> None:
        """Close the warm ones and lend no more; lent ones close at the end of their `with`. Idempotent."""
        with self._condition:
            self._is_closed = True
            warm, self._warm = self._warm, deque()
            self._condition.notify_all()
        for sandbox in warm:
            self._release(sandbox)
        if self._filler.is_alive():
            self._filler.join(CLOSE_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _acquire(self, timeout_s: float) -> Sandbox:
        end = time.monotonic() + timeout_s
        with self._condition:
            while not self._warm and self._num_places_taken >= self._num_open and not self._is_closed:
                if not self._condition.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    raise TimeoutError(
                        f"no sandbox was free within {timeout_s:g} s: {self._num_open} are used; raise num_open"
                    )
            if self._is_closed:
                raise SandboxError("the pool is closed; open another")
            if self._warm:
                sandbox = self._warm.popleft()
                self._condition.notify_all()
                return sandbox
            self._num_places_taken += 1
        return self._open_in_place()

    def _open_in_place(self) -> Sandbox:
        """Open one in a place that is taken already; the place is given back when that fails."""
        try:
            return self._open_one()
        except BaseException:
            self._give_back()
            raise

    def _release(self, sandbox: Sandbox) -> None:
        try:
            sandbox.close()
        finally:
            self._give_back()

    def _acquire_for(self, request: _Request, timeout_s: float) -> None:
        sandbox = self._acquire(timeout_s)
        with self._condition:
            if not request.is_abandoned:
                request.sandbox = sandbox
                return
        self._release(sandbox)

    def _abandon(self, request: _Request) -> None:
        with self._condition:
            request.is_abandoned = True
        if request.sandbox is not None:
            self._release(request.sandbox)

    def _give_back(self) -> None:
        with self._condition:
            self._num_places_taken -= 1
            self._condition.notify_all()

    def _fill(self) -> None:
        """Keep sandboxes warm. One that cannot be opened is left to the next borrower, who is told why."""
        while True:
            with self._condition:
                while not self._is_closed and (
                    len(self._warm) >= self._num_warm or self._num_places_taken >= self._num_open
                ):
                    self._condition.wait(60)
                if self._is_closed:
                    return
                self._num_places_taken += 1
            try:
                sandbox = self._open_in_place()
            except (SandboxError, OSError):
                time.sleep(0.1)
                continue
            with self._condition:
                if not self._is_closed:
                    self._warm.append(sandbox)
                    self._condition.notify_all()
                    continue
            self._release(sandbox)
