"""Background tasks end with their block, and their errors are the block's."""

from __future__ import annotations

import asyncio

import pytest

from molt_train.rollout.supervision import supervise


def test_an_error_in_a_task_is_the_blocks_and_ends_the_others() -> None:
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("other")

    async def fail() -> None:
        await asyncio.sleep(0)
        raise KeyError("lost")

    async def main() -> None:
        async with supervise() as tasks:
            tasks.start(wait(), "wait")
            tasks.start(fail(), "fail")
            await asyncio.sleep(60)

    with pytest.raises(KeyError, match="lost"):
        asyncio.run(main())
    assert ended == ["other"]


def test_tasks_end_with_the_block() -> None:
    async def main() -> asyncio.Event:
        ended = asyncio.Event()

        async def wait() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()

        async with supervise() as tasks:
            tasks.start(wait(), "wait")
            await asyncio.sleep(0)
        return ended

    assert asyncio.run(main()).is_set()


def test_the_blocks_own_error_comes_out_as_it_is() -> None:
    async def main() -> None:
        async with supervise() as tasks:
            tasks.start(asyncio.sleep(60), "wait")
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(main())
