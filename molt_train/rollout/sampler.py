"""Samples one id per row from logits, with its logprob under the distribution that was sampled.

In: logits, temperatures, one uniform number per row. Out: ids and fp32 logprobs. Shapes: B rows, V ids.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch


def sample(
    logits_BV: torch.Tensor, temperatures: Sequence[float], uniforms: Sequence[float]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sample by inverse distribution function: the first id at which the cumulated probability exceeds the uniform.

    Args:
        logits_BV: [B, V] of any float type; banned ids hold -inf.
        temperatures: B; logits are divided by it, 0 takes the greatest logit with its logprob at temperature 1.
        uniforms: B numbers in [0, 1), multiples of 2**-32.

    Returns:
        int64 [B] ids and float32 [B] logprobs.
    """
    logits_BV = logits_BV.float()
    if any(temperature not in (0.0, 1.0) for temperature in temperatures):
        divisors = [temperature or 1.0 for temperature in temperatures]
        logits_BV = logits_BV / torch.tensor(divisors, device=logits_BV.device)[:, None]
    logprobs_BV = torch.log_softmax(logits_BV, dim=-1)
    if not any(temperatures):
        ids = logprobs_BV.argmax(dim=-1)
    else:
        ids = _invert(logprobs_BV.exp(), torch.tensor(uniforms, dtype=torch.float64, device=logits_BV.device))
        if not all(temperatures):
            greedy = torch.tensor([temperature == 0 for temperature in temperatures], device=logits_BV.device)
            ids = torch.where(greedy, logprobs_BV.argmax(dim=-1), ids)
    return ids, logprobs_BV.gather(1, ids[:, None])[:, 0]


def ban(logits_BV: torch.Tensor, banned: Sequence[tuple[int, ...]]) -> None:
    """Set the banned ids of each of B rows to -inf, in place."""
    if not any(banned):
        return
    if len(set(banned)) == 1:
        logits_BV[:, list(banned[0])] = -torch.inf
        return
    for row, ids in enumerate(banned):
        if ids:
            logits_BV[row, list(ids)] = -torch.inf


def _invert(probabilities_BV: torch.Tensor, uniforms_B: torch.Tensor) -> torch.Tensor:
    cumulated_BV = probabilities_BV.cumsum(dim=-1, dtype=torch.float64)
    targets_B1 = (uniforms_B * cumulated_BV[:, -1])[:, None]
    # right=True: the first place that exceeds the target, so an id of probability 0 is never chosen.
    ids = torch.searchsorted(cumulated_BV, targets_B1, right=True)[:, 0]
    # Only logits that are not numbers get past the end; their logprob then says so.
    return ids.clamp_(max=probabilities_BV.shape[1] - 1)
