"""Background tasks that nobody forgets: they end with their block, and an error in one is the block's error.

In: coroutines. Out: their errors, one at a time and unwrapped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager


class Supervisor:
    """Starts tasks; made by `supervise`."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[None, None, None], name: str) -> None:
        """Run it beside the block."""
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Cancel all that still run."""
        for task in self._tasks:
            task.cancel()


@asynccontextmanager
async def supervise() -> AsyncGenerator[Supervisor]:
    """An error in a task cancels the block and is raised from it; the block's end cancels the tasks."""
    try:
        async with asyncio.TaskGroup() as group:
            supervisor = Supervisor(group)
            try:
                yield supervisor
            finally:
                supervisor.stop()
    except BaseExceptionGroup as errors:
        raise _first(errors) from None


def _first(error: BaseException) -> BaseException:
    """The first error in a nest of groups, with its own traceback."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
