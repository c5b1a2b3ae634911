"""Calls of actors as the seams want them: bounded, and with errors that say what failed.

In: references of Ray. Out: their values, or one `Lost` for an actor that is gone or does not answer.
"""
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError


class Lost(RuntimeError):
    """The actor died, its node is gone, or it did not answer in time."""


async def answer(what: str, reference: Any, timeout_s: float) -> Any:
    """Await an actor's answer; its own exceptions are raised as they were. Raises `Lost`."""
    task = asyncio.ensure_future(reference)
    try:
        await asyncio.wait({task}, timeout=timeout_s)
    finally:
        task.cancel()
    if not task.done():
        raise Lost(f"{what} did not answer within {timeout_s} s")
    error = task.exception()
    if error is None:
        return task.result()
    raise _plain(what, error)


def answer_in_thread(what: str, reference: Any, timeout_s: float) -> Any:
    """The same for a caller that may block. Raises `Lost`."""
    try:
        return ray.get(reference, timeout=timeout_s)
    except GetTimeoutError as error:
        raise Lost(f"{what} did not answer within {timeout_s} s") from error
    except RayError as error:
        raise _plain(what, error) from None


def _plain(what: str, error: BaseException) -> BaseException:
    if isinstance(error, RayTaskError):
        return error.cause
    if isinstance(error, RayActorError | RayError):
        return Lost(f"{what}: {error}")
    return error
