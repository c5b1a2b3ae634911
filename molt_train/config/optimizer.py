"""Section `optimizer`: AdamW and its schedule. In: TOML values. Out: `OptimizerConfig`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from molt_train.config.base import OrOff, Section

Schedule = Literal["constant", "linear", "cosine"]
Beta = Annotated[float, Field(ge=0, lt=1)]


class OptimizerConfig(Section):
    """AdamW, learning rate schedule, clipping."""

    lr: float = Field(default=1e-6, ge=0, le=10)
    """Peak learning rate; 0 is a control that must change nothing."""
    betas: tuple[Beta, Beta] = Field(default=(0.9, 0.95), strict=False)
    """AdamW's decay rates of the two moments."""
    eps: float = Field(default=1e-8, gt=0, le=1)
    """AdamW's ε."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Decoupled weight decay of matrices."""
    warmup_steps: int = Field(default=0, ge=0, le=10_000_000)
    """Optimizer steps over which the learning rate rises from 0."""
    schedule: Schedule = "constant"
    """Course of the learning rate after the warm-up; `linear` and `cosine` end at 0."""
    clip_norm: OrOff[float] = Field(default=1.0, gt=0, le=1e6)
    """Largest norm of the gradient; `"off"` for no clipping."""
