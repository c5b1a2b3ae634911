"""Section `algorithm`: the objective. In: TOML values. Out: `AlgorithmConfig`.

The names equal the keys of the tables in `molt_train.algorithms`; they are written out here, so that reading
a recipe imports no torch, and a test holds the two together.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from molt_train.config.base import OrOff, Section

Advantage = Literal["grpo", "dr_grpo", "rloo", "reinforce_baseline", "batch_baseline", "reinforce"]
Loss = Literal["ppo"]
KlKind = Literal["k1", "k2", "k3"]
CorrectionLevel = Literal["none", "token", "seq", "geo"]
CorrectionMode = Literal["trunc", "clip", "mask"]
Aggregation = Literal[
    "token_mean",
    "seq_mean_token_mean",
    "seq_mean_token_sum",
    "seq_mean_token_sum_norm",
    "prompt_mean_token_mean",
]


class AlgorithmConfig(Section):
    """Advantages, loss, KL, correction, aggregation and filtering."""

    advantage: Advantage = "grpo"
    """Advantage estimator."""
    gamma: float = Field(default=1.0, ge=0, le=1)
    """Discount per token; read by `reinforce`."""
    loss: Loss = "ppo"
    """Policy loss."""
    clip_low: float = Field(default=0.2, ge=0, le=1)
    """ε_low: the probability ratio is clipped at 1 − ε_low."""
    clip_high: float = Field(default=0.2, ge=0, le=100)
    """ε_high: the probability ratio is clipped at 1 + ε_high."""
    dual_clip: OrOff[float] = Field(default=None, gt=1, le=1000)
    """Bound on the loss of tokens of negative advantage, as a multiple of the advantage; `"off"`: none."""
    kl_kind: KlKind = "k3"
    """Estimator of the KL divergence to the model that training started from."""
    kl_coef: float = Field(default=0.0, ge=0, le=100)
    """Weight of the KL term; 0 needs no reference model."""
    correction: CorrectionLevel = "token"
    """Level of the correction for differences between rollout and trainer; `none` for no correction."""
    correction_mode: CorrectionMode = "trunc"
    """What is done with a weight outside the bounds: cut above, cut on both sides, or masked."""
    correction_low: float = Field(default=0.0, ge=0, le=1)
    """Lower bound of the correction's weight; read by `clip` and `mask`."""
    correction_high: float = Field(default=2.0, ge=1, le=1000)
    """Upper bound of the correction's weight."""
    mask_older_than: OrOff[int] = Field(default=None, ge=0, le=1000)
    """Tokens sampled more updates ago than this leave the loss; `"off"`: all stay, and are corrected."""
    aggregate: Aggregation = "token_mean"
    """How per-token losses become one number."""
    norm_tokens: int = Field(default=1024, ge=1, le=10_000_000)
    """Constant length that `seq_mean_token_sum_norm` divides by."""
    dynamic_sampling: bool = False
    """Keep only groups whose mean score lies strictly between the two bounds; sample more until full."""
    dynamic_low: float = Field(default=0.0, ge=-1e6, le=1e6)
    """Lower bound of dynamic sampling."""
    dynamic_high: float = Field(default=1.0, ge=-1e6, le=1e6)
    """Upper bound of dynamic sampling."""
    overlong_tokens: OrOff[int] = Field(default=None, ge=1, le=10_000_000)
    """Width in tokens, below `rollout.max_context_tokens`, over which a penalty grows; `"off"` for none."""
    overlong_penalty: float = Field(default=1.0, ge=0, le=1e6)
    """Penalty at the full length."""

    @model_validator(mode="after")
    def _check_bounds(self) -> AlgorithmConfig:
        if self.dynamic_low >= self.dynamic_high:
            raise ValueError(
                f"algorithm.dynamic_low = {self.dynamic_low} is not below algorithm.dynamic_high = "
                f"{self.dynamic_high}; no group could be kept"
            )
        return self
