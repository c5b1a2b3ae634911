"""What a run is made of: policy, tokenizer, renderer, engine, environments.

In: the configuration. Out: each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gymnasium
import gymnasium.error
import torch

from molt_envs import AgentEnv, EnvCard, Full, History, Summary, TokenEnv, Window
from molt_train.config import Config, ParallelConfig
from molt_train.model.load import load_model, load_tokenizer, model_folder
from molt_train.rollout.chat_renderer import ChatRenderer
from molt_train.rollout.engine import Engine, Sampling
from molt_train.rollout.transformers_engine import TransformersEngine

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

AUTOCAST: dict[str, torch.dtype | None] = {"none": None, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Actor:
    """How the one trainable policy reads and writes, and what it plays."""

    tokenizer: PreTrainedTokenizerBase
    """Saved beside the weights."""
    renderer: ChatRenderer
    """Messages to ids and back."""
    card: EnvCard
    """What the environment declares."""
    wrap: Callable[[gymnasium.Env[str, str]], TokenEnv]
    """An environment of the card as one over tokens."""
    make_env: Callable[[], TokenEnv]
    """Builds one environment over tokens in this process."""


def build_actor(config: Config) -> Actor:
    """Load the tokenizer and look at the environment.

    Raises:
        ValueError: the model or the environment does not exist or does not fit the configuration.
    """
    tokenizer = load_tokenizer(config.model.path)
    card = _card(config)
    renderer = ChatRenderer(tokenizer, tools=card.tools, observation_role=card.observation_role)

    def wrap(env: gymnasium.Env[str, str]) -> TokenEnv:
        return TokenEnv(env, renderer, _history(config), blind=config.env.blind)

    return Actor(tokenizer, renderer, card, wrap, lambda: wrap(make_text_env(config)))


def load_policy(config: Config, parallel: ParallelConfig | None = None) -> PreTrainedModel:
    """The model that is trained, with its starting weights; with `parallel`, this process's part of it."""
    dtype = torch.float32 if config.model.dtype == "float32" else torch.bfloat16
    model, _ = load_model(config.model.path, dtype, parallel)
    if config.model.gradient_checkpointing:
        model.gradient_checkpointing_enable()
    return model


def _history(config: Config) -> History:
    """One for each environment: a summary remembers its last text."""
    if config.env.history == "summary":
        return Summary(config.env.window_turns, config.env.summary_every)
    return Full() if config.env.history == "full" else Window(config.env.window_turns)


def make_text_env(config: Config) -> gymnasium.Env[str, str]:
    """The configured environment, in text."""
    try:
        env = gymnasium.make(config.env.id, disable_env_checker=True, **config.env.kwargs)
    except gymnasium.error.Error as error:
        raise ValueError(f"env.id = {config.env.id!r} cannot be made: {error}") from error
    if not isinstance(env.unwrapped, AgentEnv):
        raise ValueError(
            f"env.id = {config.env.id!r} is no environment of text tasks; `molt-envs list` names those"
        )
    return env


def _card(config: Config) -> EnvCard:
    env = make_text_env(config)
    base = env.unwrapped
    assert isinstance(base, AgentEnv)
    env.close()
    if base.card.image_size is not None:
        raise ValueError(
            f"env.id = {config.env.id!r} shows images, which the trainer does not look at yet: the policy "
            "would be blind; take an environment of text"
        )
    return base.card


def build_engine(config: Config, num_slots: int, model: PreTrainedModel | None = None) -> Engine:
    """The engine that `rollout.engine` names; the in-process one reads `model` in place, or loads its own."""
    rollout = config.rollout
    if rollout.engine == "vllm":
        from molt_train.rollout.vllm.engine import VllmEngine

        return VllmEngine(
            model_folder(config.model.path),
            max_context_tokens=rollout.max_context_tokens,
            num_slots=num_slots,
            turn_timeout_s=rollout.turn_timeout_s,
            dtype="bfloat16" if rollout.autocast == "bfloat16" else config.model.dtype,
            seed=config.train.seed,
        )
    return TransformersEngine(
        load_policy(config) if model is None else model,
        num_slots=num_slots,
        max_context_tokens=rollout.max_context_tokens,
        autocast_dtype=AUTOCAST[rollout.autocast],
        deterministic=rollout.in_order,
        turn_timeout_s=rollout.turn_timeout_s,
    )


def shares_weights(config: Config) -> bool:
    """Whether engine and learner can hold one model: in one process, and never both at work."""
    return config.rollout.engine == "transformers" and config.rollout.mode == "sync"


def rollout_sampling(config: Config, actor: Actor, temperature: float) -> Sampling:
    """How turns are sampled; each turn's seed is set by the runner."""
    return Sampling(
        max_tokens=config.rollout.max_turn_tokens,
        temperature=temperature,
        stop_ids=actor.renderer.stop_ids,
    )
