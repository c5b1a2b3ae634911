"""Section `train`: the training loop. In: TOML values. Out: `TrainConfig`."""

from __future__ import annotations

from pydantic import Field

from molt_train.config.base import Precision, Section


class TrainConfig(Section):
    """Steps, batches and seeds."""

    num_steps: int = Field(default=100, ge=0, le=10_000_000)
    """Training steps; each samples one batch of episodes."""
    num_minibatches: int = Field(default=1, ge=1, le=4096)
    """Optimizer steps per batch."""
    micro_batch_tokens: int = Field(default=8192, ge=8, le=100_000_000)
    """Most tokens, padding included, of one forward and backward pass; changes memory, never the gradient."""
    autocast: Precision = "none"
    """Precision of matrix products in the update."""
    seed: int = Field(default=0, ge=0, lt=2**31)
    """Seeds the order of tasks, the environments and the sampling."""
    shuffle_rewards: bool = False
    """Control: rewards are permuted across the batch's episodes, so that nothing can be learned from them."""
