"""Section `eval`: how a policy is judged. In: TOML values. Out: `EvalConfig`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from molt_train.config.base import Section

SplitName = Annotated[str, Field(min_length=1)]


class EvalConfig(Section):
    """Held-out tasks and how they are played."""

    splits: tuple[SplitName, ...] = Field(default=("test",), strict=False, min_length=1)
    """Splits whose tasks are taken, in order."""
    num_tasks: int = Field(default=200, ge=1, le=10_000_000)
    """Tasks of one evaluation; one episode each."""
    every_steps: int = Field(default=0, ge=0, le=10_000_000)
    """Evaluate every so many training steps; 0 evaluates before the first and after the last only."""
    temperature: float = Field(default=0.0, ge=0, le=100)
    """Temperature of sampling; 0 is greedy."""
    num_slots: int = Field(default=64, ge=1, le=65_536)
    """Episodes that run at the same time."""
    seed: int = Field(default=0, ge=0, lt=2**31)
    """Seeds the environments and the sampling; apart from `train.seed`, so that runs are judged alike."""
