"""A pool of warm sandboxes: in, how to open one, and how many at once; out, a fresh one for each `with`.

A sandbox is used once and closed; its place is free again on every path, also when opening or closing raises.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Self

from sandboxes.base import Sandbox, SandboxError

NUM_WAITING = 256
"""Asyncio borrowers that are served or wait in threads; more wait in line."""


class SandboxPool:
    """Lends up to `num_lent` sandboxes at once; `num_warm` more are open or being opened."""

    def __init__(self, open_one: Callable[[], Sandbox], *, num_lent: int, num_warm: int = 0) -> None:
        if num_lent < 1 or num_warm < 0:
            raise ValueError(f"num_lent={num_lent}, num_warm={num_warm}; give at least 1 and 0")
        self._open_one = open_one
        self._places = threading.BoundedSemaphore(num_lent)
        self._lock = threading.Lock()
        self._is_closed = False
        self._openers = ThreadPoolExecutor(max(1, num_warm), "sandbox-opener")
        self._holders = ThreadPoolExecutor(NUM_WAITING, "sandbox-holder")
        self._warm = deque(self._openers.submit(open_one) for _ in range(num_warm))

    @contextmanager
    def lend(self, timeout_s: float = 60.0) -> Generator[Sandbox]:
        """A fresh sandbox until the end of `with`; TimeoutError when no place is free by then."""
        if not self._places.acquire(timeout=timeout_s):
            raise TimeoutError(f"no sandbox was free within {timeout_s:g} s; raise num_lent or end some")
        try:
            with self._take() as sandbox:
                yield sandbox
        finally:
            self._places.release()

    @asynccontextmanager
    async def lend_async(self, timeout_s: float = 60.0) -> AsyncGenerator[Sandbox]:
        """The same for asyncio; the sandbox's own calls still block.

        A thread lends and waits for the end: a cancelled borrower, or a closed loop, leaves nothing open.
        """
        loop = asyncio.get_running_loop()
        lent: asyncio.Future[Sandbox] = loop.create_future()
        is_done = threading.Event()

        def hold() -> None:
            with self.lend(timeout_s) as sandbox:
                if not is_done.is_set():
                    loop.call_soon_threadsafe(lent.set_result, sandbox)
                    is_done.wait()

        holding = loop.run_in_executor(self._holders, hold)
        try:
            await asyncio.wait((lent, holding), return_when=FIRST_COMPLETED)
            if not lent.done():
                holding.result()
            yield lent.result()
        finally:
            is_done.set()
            if lent.done():
                await asyncio.shield(holding)
            else:  # whatever the thread still gets, it closes; how that ends interests nobody
                holding.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def close(self) -> None:
        """Close the warm ones and lend no more; lent ones close at the end of their `with`. Idempotent."""
        with self._lock:
            self._is_closed = True
            warm, self._warm = self._warm, deque[Future[Sandbox]]()
        self._openers.shutdown(cancel_futures=True)
        for future in warm:
            if not future.cancelled() and future.exception() is None:
                future.result().close()
        self._holders.shutdown(wait=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self) -> Sandbox:
        """A warm one, whose successor is opened meanwhile, or one opened now."""
        with self._lock:
            if self._is_closed:
                raise SandboxError("the pool is closed; open another")
            taken = self._warm.popleft() if self._warm else None
            if taken is not None:
                self._warm.append(self._openers.submit(self._open_one))
        return self._open_one() if taken is None else taken.result()
