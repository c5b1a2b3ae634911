"""Tiny random models for tests of the engine, and what transformers itself says of a sequence."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from molt_train.rollout.engine import Sampling

VOCAB_SIZE = 97


def tiny_model(architecture: str = "qwen3", seed: int = 0) -> PreTrainedModel:
    """A random model of a few thousand parameters with peaked distributions."""
    torch.manual_seed(seed)
    sizes = {
        "vocab_size": VOCAB_SIZE,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "intermediate_size": 48,
        "max_position_embeddings": 256,
        "initializer_range": 0.2,
    }
    if architecture == "llama":
        return LlamaForCausalLM(LlamaConfig(**sizes)).eval()
    return Qwen3ForCausalLM(Qwen3Config(**sizes)).eval()


def full_logprobs(model: PreTrainedModel, ids: list[int], start: int, sampling: Sampling) -> list[float]:
    """Logprobs of `ids[start:]` by one forward of transformers without a cache."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0, start - 1 : -1].float()
    if sampling.banned_ids:
        logits[:, list(sampling.banned_ids)] = -torch.inf
    logprobs = torch.log_softmax(logits / (sampling.temperature or 1.0), dim=-1)
    return logprobs.gather(1, torch.tensor(ids[start:])[:, None])[:, 0].tolist()
