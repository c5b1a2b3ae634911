"""Section `sft`: supervised warm-up on an oracle's episodes. In: TOML values. Out: `SftConfig`."""

from __future__ import annotations

from pydantic import Field

from molt_train.config.base import OrOff, Precision, Section
from molt_train.config.optimizer import Schedule


class SftConfig(Section):
    """Demonstrations and their use. AdamW's `betas` and `eps` are those of `optimizer`."""

    split: str = Field(default="train", min_length=1)
    """Split that demonstrations are drawn from."""
    num_episodes: int = Field(default=2000, ge=1, le=10_000_000)
    """Demonstrations, each of another task while there are enough."""
    noise: float = Field(default=0.0, ge=0, le=1)
    """Probability that the demonstrator leaves out a check or an option."""
    num_steps: int = Field(default=400, ge=0, le=10_000_000)
    """Optimizer steps; 0 skips the warm-up."""
    language_steps: int = Field(default=0, ge=0, le=10_000_000)
    """First steps, of `num_steps`, that learn the episodes' whole text: a new model learns to copy there."""
    language_share: float = Field(default=0.25, gt=0, le=1)
    """Share of all tokens, picked at random, that these steps learn."""
    batch_episodes: int = Field(default=8, ge=1, le=100_000)
    """Demonstrations of one optimizer step."""
    lr: float = Field(default=3e-3, ge=0, le=10)
    """Peak learning rate."""
    warmup_steps: int = Field(default=20, ge=0, le=10_000_000)
    """Optimizer steps over which the learning rate rises from 0."""
    schedule: Schedule = "cosine"
    """Course of the learning rate after the warm-up."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Decoupled weight decay of matrices."""
    clip_norm: OrOff[float] = Field(default=1.0, gt=0, le=1e6)
    """Largest norm of the gradient; `"off"` for no clipping."""
    micro_batch_tokens: int = Field(default=8192, ge=8, le=100_000_000)
    """Most tokens, padding included, of one forward and backward pass."""
    autocast: Precision = "none"
    """Precision of matrix products."""
    seed: int = Field(default=0, ge=0, lt=2**31)
    """Seeds the choice of tasks, the demonstrator's noise and the order."""
