"""Limits are checked where they are made."""

from __future__ import annotations

import math

import pytest

from sandboxes import Limits


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_a_limit_that_bounds_nothing_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="wall_s"):
        Limits(wall_s=value)


def test_limits_in_which_no_interpreter_starts_are_refused() -> None:
    with pytest.raises(ValueError, match="num_processes"):
        Limits(num_processes=7)
    with pytest.raises(ValueError, match="memory_bytes"):
        Limits(memory_bytes=2**20)
