"""Configurations of small models in the architectures that large ones have.

In: sizes and a tokenizer's special ids. Out: transformers' configuration, dense or with experts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from transformers import AutoConfig, PreTrainedConfig

Architecture = Literal["qwen3", "qwen3_moe", "deepseek_v3"]
ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)
"""Dense; experts chosen by softmax; latent attention, shared experts, and a sigmoid router with a bias."""


@dataclass(frozen=True)
class Sizes:
    """What all architectures have."""

    hidden_size: int
    """Width."""
    num_layers: int
    """Decoder layers."""
    num_heads: int
    """Query heads."""
    num_kv_heads: int
    """Key and value heads; `deepseek_v3` has as many as query heads."""
    head_dim: int
    """Size of a head."""
    intermediate_size: int
    """Width of a dense feed-forward layer."""
    num_experts: int
    """Routed experts of a sparse layer, of which each token takes two."""
    expert_size: int
    """Width of an expert."""
    max_context_tokens: int
    """Longest sequence."""
    initializer_std: float
    """Standard deviation of the initial weights."""


def architecture_config(
    architecture: Architecture, sizes: Sizes, vocab_size: int, end_id: int, pad_id: int
) -> PreTrainedConfig:
    """The configuration of a model with a tied output matrix, but for `deepseek_v3`'s."""
    values: dict[str, Any] = {
        "vocab_size": vocab_size,
        "hidden_size": sizes.hidden_size,
        "intermediate_size": sizes.intermediate_size,
        "num_hidden_layers": sizes.num_layers,
        "num_attention_heads": sizes.num_heads,
        "num_key_value_heads": sizes.num_kv_heads,
        "max_position_embeddings": sizes.max_context_tokens,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
        "initializer_range": sizes.initializer_std,
        "tie_word_embeddings": architecture != "deepseek_v3",
        "bos_token_id": None,
        "eos_token_id": end_id,
        "pad_token_id": pad_id,
    }
    experts = {"num_experts_per_tok": 2, "moe_intermediate_size": sizes.expert_size, "norm_topk_prob": True}
    match architecture:
        case "qwen3":
            values |= {"head_dim": sizes.head_dim}
        case "qwen3_moe":
            values |= {"head_dim": sizes.head_dim, "num_experts": sizes.num_experts, **experts}
        case "deepseek_v3":
            half = sizes.head_dim // 2
            values |= {"num_key_value_heads": sizes.num_heads, "q_lora_rank": sizes.hidden_size // 2}
            values |= {"kv_lora_rank": sizes.head_dim, "v_head_dim": sizes.head_dim}
            values |= {"qk_nope_head_dim": sizes.head_dim - half, "qk_rope_head_dim": half}
            values |= {"n_routed_experts": sizes.num_experts, "n_shared_experts": 1, **experts}
            values |= {"n_group": 2, "topk_group": 1, "first_k_dense_replace": 1}
    return AutoConfig.for_model(architecture, **values)
