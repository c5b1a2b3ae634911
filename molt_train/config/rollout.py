"""Section `rollout`: how episodes are sampled for training. In: TOML values. Out: `RolloutConfig`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from molt_train.config.base import Precision, Section

NAMED_REWARDS = ("env", "success", "mostly_success")
"""Keys of `molt_train.rewards.REWARDS`."""


class RolloutConfig(Section):
    """Episodes of one training step."""

    engine: Literal["transformers", "vllm"] = "transformers"
    """What samples: the in-process engine, or vLLM."""
    mode: Literal["sync", "one_step_off", "fully_async"] = "sync"
    """Whether sampling runs beside training: not at all, one batch ahead, or without a pause."""
    max_staleness: int = Field(default=2, ge=0, le=1000)
    """In `fully_async`: most updates between a token's sampling and its training; it bounds admission."""
    split: str = Field(default="train", min_length=1)
    """Split that training tasks are drawn from."""
    num_tasks: int = Field(default=16, ge=1, le=100_000)
    """Tasks of one step; each is played by one group."""
    group_size: int = Field(default=8, ge=1, le=4096)
    """Episodes of one task, which share a baseline."""
    num_slots: int = Field(default=64, ge=1, le=65_536)
    """Episodes that run at the same time."""
    max_turn_tokens: int = Field(default=64, ge=1, le=1_000_000)
    """Most tokens of one turn; a turn that is cut ends its episode with the outcome `length`."""
    max_context_tokens: int = Field(default=2048, ge=8, le=10_000_000)
    """Most tokens of a prompt and its turn together; also the size of a cache slot."""
    temperature: float = Field(default=1.0, gt=0, le=100)
    """Temperature of sampling; training's logprobs are of the same distribution."""
    autocast: Precision = "none"
    """Precision of matrix products while sampling."""
    timeout_s: float = Field(default=60.0, gt=0, le=86_400)
    """Bound of one environment call in seconds; when it expires the episode is unresolved."""
    num_env_workers: int = Field(default=0, ge=0, le=4096)
    """Processes for environments; 0: a thread of this one for bounded environments, else a process a core."""
    num_retries: int = Field(default=1, ge=0, le=100)
    """Times that an unresolved episode is played again before it stays unresolved."""
    max_unresolved_share: float = Field(default=0.5, ge=0, le=1)
    """A step with a greater share of unresolved episodes stops the run, with a table of the reasons."""
    turn_timeout_s: float = Field(default=1800.0, gt=0, le=86_400)
    """Bound of one turn in seconds, queueing included; when it expires the episode is unresolved."""
    stall_timeout_s: float = Field(default=3600.0, gt=0, le=604_800)
    """Longest time without an episode's end while the learner waits, in seconds; then the run stops."""
    deterministic: bool = True
    """Batches depend on the episodes alone, never on timing; `fully_async` always goes by timing."""
    reward_timeout_s: float = Field(default=60.0, gt=0, le=86_400)
    """Bound of the reward function for one episode in seconds; when it expires the episode is unresolved."""
    reward: str = "env"
    """`env` (the environment's), `success`, `mostly_success` (.8 success + .2 score) or `module:function`."""

    @field_validator("reward")
    @classmethod
    def _check_reward(cls, reward: str) -> str:
        module, colon, function = reward.partition(":")
        if reward not in NAMED_REWARDS and not (
            colon and all(map(str.isidentifier, [*module.split("."), function]))
        ):
            raise ValueError(
                f"rollout.reward = {reward!r} names no reward; known are {', '.join(NAMED_REWARDS)}, or give "
                "'module:function'"
            )
        return reward

    @property
    def staleness_bound(self) -> int:
        """Most updates between the sampling of a token and its training, by `mode`."""
        return {"sync": 0, "one_step_off": 1, "fully_async": self.max_staleness}[self.mode]

    @property
    def in_order(self) -> bool:
        """Groups are trained on in the order of their tasks."""
        return self.deterministic and self.mode != "fully_async"

    @model_validator(mode="after")
    def _check_tokens(self) -> RolloutConfig:
        if self.max_turn_tokens >= self.max_context_tokens:
            raise ValueError(
                f"rollout.max_turn_tokens = {self.max_turn_tokens} leaves no room for a prompt in "
                f"rollout.max_context_tokens = {self.max_context_tokens}; lower it or raise the context"
            )
        return self
