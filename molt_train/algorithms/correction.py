"""Weights that correct for the difference between the policy that sampled and the trainer's copy of it.

In: trainer's and rollout's logprobs of the same tokens. Out: weights_N, constants of the loss.
Shapes: N trained tokens, S sequences. Sources: arXiv:2505.24298 (decoupled objective), docs/algorithms.md.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from molt_train.algorithms.loss import bounded_exp

Level = Literal["none", "token", "seq", "geo"]
Mode = Literal["trunc", "clip", "mask"]


def correction_weights(
    old_logprobs_N: Tensor,
    rollout_logprobs_N: Tensor,
    sequence_N: Tensor,
    level: Level,
    mode: Mode,
    low: float,
    high: float,
) -> Tensor:
    """The per-token weights.

    Args:
        old_logprobs_N: trainer's logprobs before the step's first update.
        rollout_logprobs_N: the engine's logprobs when it sampled.
        sequence_N: int64, the sequence of each token, numbered from 0; read by `seq` and `geo`.
        level: the statistic: the token's ratio, the sequence's product or geometric mean; `none` gives ones.
        mode: `trunc` min(stat, high); `clip` clamp(stat, low, high); `mask` the token's ratio where
            low ≤ stat ≤ high, else 0.
        low: lower bound.
        high: upper bound.
    """
    log_ratio_N = (old_logprobs_N - rollout_logprobs_N).detach()
    if level == "none":
        return torch.ones_like(log_ratio_N)
    statistic_N = bounded_exp(
        log_ratio_N if level == "token" else _by_sequence(log_ratio_N, sequence_N, level)
    )
    match mode:
        case "trunc":
            return statistic_N.clamp(max=high)
        case "clip":
            return statistic_N.clamp(low, high)
        case "mask":
            inside_N = (statistic_N >= low) & (statistic_N <= high)
            return torch.where(inside_N, bounded_exp(log_ratio_N), torch.zeros_like(log_ratio_N))


def _by_sequence(log_ratio_N: Tensor, sequence_N: Tensor, level: Level) -> Tensor:
    """Each token's sequence statistic in logs: the sum, or for `geo` the mean."""
    num_sequences = int(sequence_N.max()) + 1 if len(sequence_N) else 0
    sums_S = torch.zeros(num_sequences, dtype=log_ratio_N.dtype).index_add(0, sequence_N, log_ratio_N)
    if level == "geo":
        sums_S = sums_S / torch.bincount(sequence_N, minlength=num_sequences).clamp(min=1)
    return sums_S[sequence_N]
