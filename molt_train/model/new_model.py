"""Makes a small model of a chosen architecture with a tokenizer of the environments' words.

In: a `NewModelSpec`. Out: a Hugging Face folder; the same spec gives the same bytes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import gymnasium
import torch
from transformers import AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from molt_envs import AgentEnv
from molt_train.model.architectures import ARCHITECTURES, Architecture, Sizes, architecture_config
from molt_train.model.tokenizer import END, PAD, train_tokenizer


@dataclass(frozen=True)
class NewModelSpec:
    """Sizes and sources of a new model."""

    env_ids: tuple[str, ...]
    """Environments whose text the tokenizer is made of; each needs an oracle."""
    hidden_size: int = 128
    """Width."""
    num_layers: int = 2
    """Decoder layers."""
    num_heads: int = 4
    """Query heads."""
    num_kv_heads: int = 2
    """Key and value heads."""
    head_dim: int = 32
    """Size of a head; engines take 32, 64, 80, 96, 112, 128 and some above."""
    intermediate_size: int = 384
    """Width of the feed-forward layer."""
    vocab_size: int = 6144
    """Most tokens; fewer when the texts have fewer words."""
    max_context_tokens: int = 4096
    """Longest sequence."""
    initializer_std: float = 0.08
    """Standard deviation of the initial weights; a model this small does not learn to copy from .02."""
    architecture: Architecture = "qwen3"
    """`qwen3` (dense), `qwen3_moe` or `deepseek_v3` (experts)."""
    num_experts: int = 8
    """Experts of a sparse layer."""
    expert_size: int = 96
    """Width of an expert."""
    num_episodes: int = 2000
    """Episodes of each environment's train split that the tokenizer's texts are taken from."""
    seed: int = 0
    """Seeds the weights and the episodes."""

    def __post_init__(self) -> None:
        if not self.env_ids:
            raise ValueError("env_ids is empty; a tokenizer is made of the text of at least one environment")
        for name, value in vars(self).items():
            if name not in ("env_ids", "seed", "architecture") and value <= 0:
                raise ValueError(f"{name} is {value}; it must be above 0")
        if self.num_heads % self.num_kv_heads:
            raise ValueError(f"num_heads {self.num_heads} is no multiple of num_kv_heads {self.num_kv_heads}")
        if self.architecture not in ARCHITECTURES:
            raise ValueError(f"architecture {self.architecture!r} is none of {', '.join(ARCHITECTURES)}")
        if self.num_experts % 2 or self.num_experts < 4:
            raise ValueError(f"num_experts is {self.num_experts}; take an even number of at least 4")
        if self.head_dim % 2:
            raise ValueError(f"head_dim is {self.head_dim}; rotary positions need an even one")


def new_model(spec: NewModelSpec, out: Path) -> Path:
    """Make the model and write it to `out`; nothing is left there if it fails.

    Raises:
        ValueError: `out` exists, the vocabulary is too small, or an environment is unknown or has no oracle.
    """
    if out.exists():
        raise ValueError(f"{out} exists; choose another folder or remove it first")
    tokenizer = train_tokenizer(environment_texts(spec), spec.vocab_size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(spec.seed)
        model = AutoModelForCausalLM.from_config(_config(spec, tokenizer))
        share_embeddings_of_variants(model, tokenizer)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".new-model-", dir=out.parent))
    try:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        os.replace(temporary, out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return out


def environment_texts(spec: NewModelSpec) -> Iterator[str]:
    """Prompts, observations and actions of oracle episodes."""
    for env_id in spec.env_ids:
        try:
            env = gymnasium.make(env_id, disable_env_checker=True)
        except gymnasium.error.Error as error:
            raise ValueError(f"{env_id} cannot be made: {error}") from error
        with closing(env):
            base = env.unwrapped
            if not isinstance(base, AgentEnv):
                raise ValueError(f"{env_id} is no environment of text tasks; `molt-envs list` names those")
            yield from [base.card.system_prompt] * 2
            for number in range(spec.num_episodes):
                yield from _episode_texts(env, base, spec.seed + number, number)


def _episode_texts(env: gymnasium.Env, base: AgentEnv, seed: int, oracle_seed: int) -> Iterator[str]:
    observation, info = env.reset(seed=seed, options={"split": "train"})
    policy = base.oracle(seed=oracle_seed)
    if policy is None:
        raise ValueError(f"{type(base).__name__} has no oracle; a tokenizer is made from its episodes")
    done = False
    while not done:
        yield f"user\n{observation}"
        action = policy.act(observation, info)
        yield f"assistant\n{action}"
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated


def share_embeddings_of_variants(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
    """Let ` Blue`, `Blue` and ` blue` begin as `blue` plus a mark for the blank and one for the capital.

    A small model then finds a word of the instruction on a page, and copies it, before it has seen each
    variant.
    """
    embeddings_VD = model.get_input_embeddings().get_parameter("weight")
    decode = tokenizer.backend_tokenizer.decode
    vocab = tokenizer.get_vocab()
    texts = {token: decode([index], skip_special_tokens=False) for token, index in vocab.items()}
    first: dict[str, int] = {}
    for token, index in sorted(vocab.items(), key=lambda item: item[1]):
        first.setdefault(texts[token].strip().lower(), index)
    blank_D, capital_D = torch.randn(2, embeddings_VD.shape[1]) * model.config.initializer_range / 2
    with torch.no_grad():
        originals_VD = embeddings_VD.clone()
        for token, index in vocab.items():
            text = texts[token]
            word = text.strip()
            if len(word) < 2 or not word.replace("'", "").replace("-", "").isalnum():
                continue
            shared_D = originals_VD[first[word.lower()]].clone()
            shared_D += blank_D * text.startswith(" ")
            shared_D += capital_D * (word != word.lower())
            embeddings_VD[index] = shared_D


def _config(spec: NewModelSpec, tokenizer: PreTrainedTokenizerFast) -> PreTrainedConfig:
    sizes = Sizes(**{name: vars(spec)[name] for name in Sizes.__dataclass_fields__})
    end_id, pad_id = tokenizer.vocab[END], tokenizer.vocab[PAD]
    return architecture_config(spec.architecture, sizes, len(tokenizer), end_id, pad_id)
