"""Policy losses per token. Shapes: N trained tokens.

In: logprobs under the weights being trained, those before the step's first update, advantages. Out: losses_N.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

LOG_RATIO_LIMIT = 30.0
"""Log-ratios are clamped to ± this before exp."""


@dataclass(frozen=True)
class PolicyLoss:
    """Losses with what the metrics need."""

    loss_N: Tensor
    """Per-token loss, to be minimised."""
    ratio_N: Tensor
    """exp(ℓ − ℓ_old), detached."""
    clipped_N: Tensor
    """Whether the clipped branch was taken, detached."""


def ppo(
    logprobs_N: Tensor,
    old_logprobs_N: Tensor,
    advantages_N: Tensor,
    clip_low: float,
    clip_high: float,
    dual_clip: float | None = None,
) -> PolicyLoss:
    """−min(ratio · A, clip(ratio, 1 − ε_low, 1 + ε_high) · A); with dual clip c, at most −c · A where A < 0.

    Sources: arXiv:1707.06347 (clip), arXiv:1912.09729 (dual clip), arXiv:2503.14476 (two bounds).
    """
    ratio_N = bounded_exp(logprobs_N - old_logprobs_N)
    plain_N = -ratio_N * advantages_N
    clipped_N = -ratio_N.clamp(1.0 - clip_low, 1.0 + clip_high) * advantages_N
    loss_N = torch.maximum(plain_N, clipped_N)
    taken_N = clipped_N > plain_N
    if dual_clip is not None:
        bound_N = -dual_clip * advantages_N
        bounded_N = (advantages_N < 0) & (loss_N > bound_N)
        loss_N = torch.where(bounded_N, bound_N, loss_N)
        taken_N = taken_N | bounded_N
    return PolicyLoss(loss_N, ratio_N.detach(), taken_N.detach())


LOSSES = {"ppo": ppo}
"""Policy losses by name."""


def bounded_exp(log_ratio: Tensor) -> Tensor:
    """exp of a log-ratio clamped to ± `LOG_RATIO_LIMIT`."""
    return log_ratio.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
