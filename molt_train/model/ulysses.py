"""Attention over sequences that several processes hold in parts (DeepSpeed-Ulysses, arXiv:2309.14509).

In: queries, keys and values of one part of each sequence, all heads. Out: the same part's attention outputs.
In between each process has the whole sequences and a share of the heads.
Shapes: B rows, H heads, S tokens of a part, T = S · processes, D head size.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed._functional_collectives import all_to_all_single_autograd
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, PreTrainedModel

NAME = "ulysses"


def split_sequences(model: PreTrainedModel, group: Any) -> None:
    """From here on the model's forward takes equal parts of sequences, one per process of the group."""

    def attend(
        module: torch.nn.Module,
        query_BHSD: Tensor,
        key_BHSD: Tensor,
        value_BHSD: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        **_: Any,
    ) -> tuple[Tensor, None]:
        num_heads = query_BHSD.shape[1]
        key_BHSD, value_BHSD = (
            t.repeat_interleave(num_heads // t.shape[1], 1) for t in (key_BHSD, value_BHSD)
        )
        query, key, value = (_heads_for_tokens(t, group) for t in (query_BHSD, key_BHSD, value_BHSD))
        output = scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)
        return _tokens_for_heads(output, group).transpose(1, 2).contiguous(), None

    AttentionInterface.register(NAME, attend)
    model.set_attn_implementation(NAME)


def _heads_for_tokens(part_BHSD: Tensor, group: Any) -> Tensor:
    """Give away heads, get tokens: (B, H, S, D) to (B, H / processes, T, D)."""
    count = dist.get_world_size(group)
    num_rows, num_heads, num_tokens, size = part_BHSD.shape
    parts = part_BHSD.reshape(num_rows, count, num_heads // count, num_tokens, size).movedim(1, 0)
    parts = _exchange(parts, group)
    return parts.movedim(0, 2).reshape(num_rows, num_heads // count, count * num_tokens, size)


def _tokens_for_heads(whole_BHTD: Tensor, group: Any) -> Tensor:
    """The inverse."""
    count = dist.get_world_size(group)
    num_rows, num_heads, num_tokens, size = whole_BHTD.shape
    parts = whole_BHTD.reshape(num_rows, num_heads, count, num_tokens // count, size).movedim(2, 0)
    parts = _exchange(parts, group)
    return parts.movedim(0, 1).reshape(num_rows, count * num_heads, num_tokens // count, size)


def _exchange(parts: Tensor, group: Any) -> Tensor:
    """Part n of the first dimension goes to process n."""
    flat = parts.contiguous().flatten()
    sizes = [flat.numel() // len(parts)] * len(parts)
    return all_to_all_single_autograd(flat, sizes, sizes, group).view(parts.shape)
