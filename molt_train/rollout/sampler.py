"""Samples one id per row from logits, with its logprob under the distribution that was sampled.

In: logits, temperatures, a uniform number per row. Out: ids, fp32 logprobs. Shapes: B rows, V ids, N blocks
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

_BLOCK = 64


def sample(
    logits_BV: torch.Tensor, temperatures: Sequence[float], uniforms: Sequence[float]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sample by inverse distribution function: the first id whose cumulated probability exceeds the uniform.

    Args:
        logits_BV: [B, V] of any float type; banned ids hold -inf.
        temperatures: B; logits are divided by it; 0 takes the greatest, with its logprob at temperature 1.
        uniforms: B numbers in [0, 1), multiples of 2**-32.

    Returns:
        int64 [B] ids and float32 [B] logprobs.
    """
    logits_BV = logits_BV.float()
    if any(temperature not in (0.0, 1.0) for temperature in temperatures):
        divisors = [temperature or 1.0 for temperature in temperatures]
        logits_BV = logits_BV / torch.tensor(divisors, device=logits_BV.device)[:, None]
    probabilities_BV = torch.softmax(logits_BV, dim=-1)
    if not any(temperatures):
        ids_B = probabilities_BV.argmax(dim=-1)
    else:
        uniforms_B = torch.tensor(uniforms, dtype=torch.float64, device=logits_BV.device)
        ids_B = _invert(probabilities_BV, uniforms_B)
        if not all(temperatures):
            greedy = torch.tensor([temperature == 0 for temperature in temperatures], device=logits_BV.device)
            ids_B = torch.where(greedy, probabilities_BV.argmax(dim=-1), ids_B)
    return ids_B, probabilities_BV.gather(1, ids_B[:, None])[:, 0].log()


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
    """Find the block of ids in which the uniform falls, then the id in it: two short sums for a long one."""
    num_ids = probabilities_BV.shape[1]
    if num_ids % _BLOCK:
        probabilities_BV = torch.nn.functional.pad(probabilities_BV, (0, -num_ids % _BLOCK))
    blocks_BNK = probabilities_BV.unflatten(1, (-1, _BLOCK))
    ends_BN = blocks_BNK.sum(dim=-1).cumsum(dim=-1, dtype=torch.float64)
    targets_B = uniforms_B * ends_BN[:, -1]
    block_B = _first_above(ends_BN, targets_B)
    rows = torch.arange(len(block_B), device=block_B.device)
    begin_B = torch.where(block_B > 0, ends_BN[rows, (block_B - 1).clamp(min=0)], 0.0)
    share_B = ((targets_B - begin_B) / (ends_BN[rows, block_B] - begin_B)).clamp(0.0, 1 - 2**-32)
    inner_BK = blocks_BNK[rows, block_B].cumsum(dim=-1, dtype=torch.float64)
    # Only probabilities that are not numbers get past the end; the logprob then says so.
    return (block_B * _BLOCK + _first_above(inner_BK, share_B * inner_BK[:, -1])).clamp(max=num_ids - 1)


def _first_above(sums: torch.Tensor, targets_B: torch.Tensor) -> torch.Tensor:
    """The first place whose sum exceeds the target: strictly, so that nothing of probability 0 is chosen."""
    return torch.searchsorted(sums, targets_B[:, None], right=True)[:, 0].clamp(max=sums.shape[1] - 1)
