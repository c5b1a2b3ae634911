"""Logprobs and entropies of chosen tokens without the logits of all of them in memory.

In: hidden states at the positions that predict the tokens, the output matrix, the tokens.
Out: logprobs_N, entropy_N.
Shapes: N tokens, D hidden, V ids, C tokens of one chunk. Memory beyond the inputs and their
gradients is a few times C·V.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

CHUNK_TOKENS = 256
"""Few enough that a chunk's logits stay in the processor's cache; more tokens are slower."""

_ROW_STEP = 64
"""Rows are filled up to a multiple of this: few distinct shapes, since matrix libraries keep code for
each."""


def token_logprobs(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    targets_N: Tensor,
    temperature: float = 1.0,
    chunk_tokens: int = CHUNK_TOKENS,
) -> tuple[Tensor, Tensor]:
    """Logprobs of `targets_N` under softmax(hidden · weightᵀ / temperature), and the entropies.

    Args:
        hidden_ND: hidden states, float32 or bfloat16; gradients flow into them.
        weight_VD: the output matrix; gradients flow into it.
        targets_N: int64 ids.
        temperature: that of sampling; 0 (greedy) is scored at 1, as the engine reports it.
        chunk_tokens: rows whose logits exist at the same time.

    Returns:
        logprobs_N float32 in nats, differentiable; entropy_N float32 in nats, a constant.
    """
    assert hidden_ND.ndim == 2 and targets_N.shape == hidden_ND.shape[:1], "one hidden state per token"
    scale = 1.0 / (temperature or 1.0)
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else hidden_ND.dtype
    num_tokens = len(targets_N)
    spare = -num_tokens % _ROW_STEP
    hidden_ND, targets_N = functional.pad(hidden_ND, (0, 0, 0, spare)), functional.pad(targets_N, (0, spare))
    logprobs_N, entropy_N = _TokenLogprobs.apply(hidden_ND, weight_VD, targets_N, scale, chunk_tokens, dtype)
    return logprobs_N[:num_tokens], entropy_N[:num_tokens]


class _TokenLogprobs(torch.autograd.Function):
    """Keeps the log-normalisers only; the backward pass computes each chunk's logits again."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: Tensor,
        weight_VD: Tensor,
        targets_N: Tensor,
        scale: float,
        chunk: int,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        weight = weight_VD.to(dtype)
        logprobs_N = hidden_ND.new_empty(len(targets_N), dtype=torch.float32)
        normaliser_N = torch.empty_like(logprobs_N)
        entropy_N = torch.empty_like(logprobs_N)
        for rows in _chunks(len(targets_N), chunk):
            logits_CV = _logits(hidden_ND[rows], weight, scale)
            highest_C = logits_CV.amax(-1)
            logits_CV.sub_(highest_C[:, None])
            weights_CV = logits_CV.exp()
            sums_C = weights_CV.sum(-1)
            normaliser_N[rows] = highest_C + sums_C.log()
            logprobs_N[rows] = logits_CV.gather(1, targets_N[rows, None])[:, 0] - sums_C.log()
            entropy_N[rows] = sums_C.log() - torch.linalg.vecdot(weights_CV, logits_CV) / sums_C
        ctx.save_for_backward(hidden_ND, weight_VD, targets_N, normaliser_N)
        ctx.scale, ctx.chunk, ctx.dtype = scale, chunk, dtype
        ctx.mark_non_differentiable(entropy_N)
        return logprobs_N, entropy_N

    @staticmethod
    def backward(ctx: Any, grad_N: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        hidden_ND, weight_VD, targets_N, normaliser_N = ctx.saved_tensors
        weight = weight_VD.to(ctx.dtype)
        grad_hidden_ND = torch.empty_like(hidden_ND)
        grad_weight_VD = torch.zeros_like(weight_VD, dtype=torch.float32)
        for rows in _chunks(len(targets_N), ctx.chunk):
            scaled_C1 = grad_N[rows, None] * ctx.scale
            grad_CV = _logits(hidden_ND[rows], weight, ctx.scale).sub_(normaliser_N[rows, None]).exp_()
            grad_CV.mul_(-scaled_C1).scatter_add_(1, targets_N[rows, None], scaled_C1)
            grad_CV = grad_CV.to(ctx.dtype)
            grad_hidden_ND[rows] = (grad_CV @ weight).to(grad_hidden_ND.dtype)
            grad_weight_VD += grad_CV.T @ hidden_ND[rows].to(ctx.dtype)
        return grad_hidden_ND, grad_weight_VD.to(weight_VD.dtype), None, None, None, None


def _logits(hidden_CD: Tensor, weight_VD: Tensor, scale: float) -> Tensor:
    """A tensor of its own, float32: its caller may write into it."""
    return (hidden_CD.to(weight_VD.dtype) @ weight_VD.T).float().mul_(scale)


def _chunks(count: int, chunk: int) -> list[slice]:
    return [slice(start, min(start + chunk, count)) for start in range(0, count, chunk)]
