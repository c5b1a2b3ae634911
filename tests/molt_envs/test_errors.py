"""The boundary: what an exception makes of an episode."""

from __future__ import annotations

import asyncio

import pytest

from molt_envs import InfrastructureError, PolicyError, boundary


def test_the_policys_error_is_failed() -> None:
    with boundary() as result:
        raise PolicyError("bad tool call")
    assert result.failure is not None
    assert (result.failure.outcome, result.failure.reason) == ("failed", "PolicyError: bad tool call")


@pytest.mark.parametrize(
    "error", [InfrastructureError("x"), TimeoutError(), RuntimeError("y"), ValueError("z")]
)
def test_an_unforeseen_error_is_unresolved(error: Exception) -> None:
    with boundary() as result:
        raise error
    assert result.failure is not None
    assert result.failure.outcome == "unresolved"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, asyncio.CancelledError, SystemExit])
def test_a_stop_passes_through(stop: type[BaseException]) -> None:
    with pytest.raises(stop), boundary():
        raise stop


def test_success_leaves_no_failure() -> None:
    with boundary() as result:
        pass
    assert result.failure is None


def test_a_long_reason_is_cut() -> None:
    with boundary() as result:
        raise RuntimeError("x" * 10_000)
    assert result.failure is not None
    assert len(result.failure.reason) == 500
