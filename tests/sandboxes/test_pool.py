"""The pool: one use each, bounded, and no place or sandbox lost on any path. Fakes stand for sandboxes."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import cast

import pytest

from sandboxes.base import Sandbox, SandboxError
from sandboxes.pool import SandboxPool


class Box:
    """As much of a sandbox as a pool touches."""

    def __init__(self, farm: Farm) -> None:
        self.farm = farm

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.farm.is_open.discard(self)
        if self.farm.fails_closing:
            raise SandboxError("did not close")


class Farm:
    """Opens boxes and keeps count."""

    def __init__(self) -> None:
        self.is_open: set[Box] = set()
        self.num_opened = self.most_open = 0
        self.fails_opening = self.fails_closing = False
        self.opening_s = 0.0
        self.lock = threading.Lock()

    def open(self) -> Sandbox:
        time.sleep(self.opening_s)
        if self.fails_opening:
            raise SandboxError("did not open")
        with self.lock:
            box = Box(self)
            self.is_open.add(box)
            self.num_opened += 1
            self.most_open = max(self.most_open, len(self.is_open))
        return cast(Sandbox, box)


def test_a_sandbox_is_used_once() -> None:
    farm = Farm()
    with SandboxPool(farm.open, num_lent=1, num_warm=1) as pool:
        seen = []
        for _ in range(3):
            with pool.lend() as sandbox:
                seen.append(sandbox)
    assert len(set(map(id, seen))) == 3
    assert farm.is_open == set()


def test_a_warm_sandbox_is_lent_without_waiting_for_one_to_open() -> None:
    farm = Farm()
    with SandboxPool(farm.open, num_lent=1, num_warm=1) as pool:
        while not farm.is_open:
            time.sleep(0.001)
        farm.opening_s = 0.5
        began = time.monotonic()
        with pool.lend():
            assert time.monotonic() - began < 0.25


def test_no_more_than_asked_for_are_open() -> None:
    farm = Farm()
    with SandboxPool(farm.open, num_lent=3, num_warm=2) as pool:

        def borrow() -> None:
            with pool.lend():
                time.sleep(0.005)

        threads = [threading.Thread(target=borrow) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert 3 <= farm.most_open <= 5
    assert farm.is_open == set()


def test_a_full_pool_says_so_in_time() -> None:
    full = pytest.raises(TimeoutError, match=r"0\.01 s; raise num_lent")
    with SandboxPool(Farm().open, num_lent=1) as pool, pool.lend(), full, pool.lend(timeout_s=0.01):
        pass


def test_a_failed_opening_gives_its_place_back() -> None:
    farm = Farm()
    farm.fails_opening = True
    with SandboxPool(farm.open, num_lent=1) as pool:
        with pytest.raises(SandboxError, match="did not open"), pool.lend():
            pass
        farm.fails_opening = False
        with pool.lend(timeout_s=0.1):
            pass
    assert farm.is_open == set()


def test_a_failed_warm_opening_is_told_and_replaced() -> None:
    farm = Farm()
    farm.fails_opening = True
    with SandboxPool(farm.open, num_lent=1, num_warm=1) as pool:
        for _ in range(2):
            with pytest.raises(SandboxError, match="did not open"), pool.lend():
                pass
        farm.fails_opening = False
        lent = 0
        for _ in range(2):  # the first may be one that failed before
            try:
                with pool.lend(timeout_s=1):
                    lent += 1
            except SandboxError:
                continue
        assert lent >= 1
    assert farm.is_open == set()


def test_an_error_in_the_body_or_in_closing_gives_the_place_back() -> None:
    farm = Farm()
    with SandboxPool(farm.open, num_lent=1) as pool:
        with pytest.raises(ZeroDivisionError), pool.lend():
            raise ZeroDivisionError
        farm.fails_closing = True
        with pytest.raises(SandboxError, match="did not close"), pool.lend():
            pass
        farm.fails_closing = False
        with pool.lend(timeout_s=0.1):
            pass
    assert farm.is_open == set()


def test_a_closed_pool_lends_nothing_and_holds_nothing() -> None:
    farm = Farm()
    pool = SandboxPool(farm.open, num_lent=2, num_warm=2)
    pool.close()
    pool.close()
    with pytest.raises(SandboxError, match="closed"), pool.lend():
        pass
    assert farm.is_open == set()


def test_the_async_face_lends_and_closes() -> None:
    farm = Farm()

    async def main() -> int:
        with SandboxPool(farm.open, num_lent=2, num_warm=1) as pool:

            async def borrow() -> None:
                async with pool.lend_async():
                    await asyncio.sleep(0.01)

            await asyncio.gather(*(borrow() for _ in range(8)))
            return farm.num_opened

    assert asyncio.run(main()) >= 8
    assert farm.most_open <= 3
    assert farm.is_open == set()


def test_a_cancelled_borrower_leaves_nothing_open() -> None:
    farm = Farm()
    farm.opening_s = 0.05

    async def main(pool: SandboxPool) -> None:
        async def borrow() -> None:
            async with pool.lend_async():
                await asyncio.sleep(10)

        for wait_s in (0.0, 0.02, 0.1):
            task = asyncio.create_task(borrow())
            await asyncio.sleep(wait_s)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with SandboxPool(farm.open, num_lent=1) as pool:
        asyncio.run(main(pool))
        with pool.lend(timeout_s=1):
            assert len(farm.is_open) == 1
    assert farm.is_open == set()


def test_a_borrower_that_is_cancelled_in_the_queue_ends_at_once() -> None:
    async def main(pool: SandboxPool) -> float:
        async def borrow() -> None:
            async with pool.lend_async(timeout_s=0.5):
                pass

        task = asyncio.create_task(borrow())
        await asyncio.sleep(0.02)
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    with SandboxPool(Farm().open, num_lent=1) as pool, pool.lend():
        assert asyncio.run(main(pool)) < 0.25


def test_an_async_borrower_is_told_why() -> None:
    farm = Farm()
    farm.fails_opening = True

    async def main(pool: SandboxPool) -> None:
        async with pool.lend_async():
            pass

    with SandboxPool(farm.open, num_lent=1) as pool, pytest.raises(SandboxError, match="did not open"):
        asyncio.run(main(pool))


@pytest.mark.parametrize(("num_lent", "num_warm"), [(0, 0), (1, -1)])
def test_numbers_that_make_no_pool_are_refused(num_lent: int, num_warm: int) -> None:
    with pytest.raises(ValueError, match=f"num_lent={num_lent}"):
        SandboxPool(Farm().open, num_lent=num_lent, num_warm=num_warm)
