"""Errors of the hub, one per boundary, and the one place where an exception becomes an episode's outcome.

In: exceptions raised while an episode runs. Out: `Failure` values (an outcome with its reason).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal


class ProtocolError(ValueError):
    """A segment, an episode or a wire message breaks an invariant of the protocol."""


class DataError(ValueError):
    """A data file is missing or wrong; the message names the file, the record and the field."""


class TaskError(ValueError):
    """A task id, split or option that the environment does not have."""


class UnknownEnvError(ValueError):
    """No environment of that id is registered; the message suggests near ones."""


class EpisodeDone(RuntimeError):
    """`step` was called on an episode that has ended, or before the first `reset`."""


class PolicyError(Exception):
    """The policy caused the failure; the episode counts as *failed* and is trained on."""


class InfrastructureError(Exception):
    """A tool, grader, server or worker failed; the episode is *unresolved* and never trained on."""


FailureOutcome = Literal["failed", "unresolved"]


@dataclass(frozen=True)
class Failure:
    """Why an episode ended without being completed."""

    outcome: FailureOutcome
    """`failed`: the policy's doing. `unresolved`: ours."""
    reason: str
    """`ErrorType: message`, cut at 500 characters."""


class Boundary:
    """What `boundary` yields: `failure` and `error` are set once the block has ended with an exception."""

    def __init__(self) -> None:
        self.failure: Failure | None = None
        self.error: Exception | None = None


@contextmanager
def boundary() -> Generator[Boundary]:
    """Run one episode's code; an exception is recorded as a `Failure` instead of stopping the run.

    `PolicyError` gives *failed*; every other `Exception` gives *unresolved*, since an error that nobody
    foresaw must never become a reward. `KeyboardInterrupt` and cancellation pass through.
    """
    result = Boundary()
    try:
        yield result
    except PolicyError as error:
        result.failure, result.error = Failure("failed", _reason(error)), error
    except Exception as error:
        result.failure, result.error = Failure("unresolved", _reason(error)), error


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
