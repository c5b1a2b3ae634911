"""Estimators of the KL divergence per token (J. Schulman, "Approximating KL divergence", 2020).

In: logprobs of the sampled tokens under two models. Out: estimates_N, differentiable in the first.
Shapes: N tokens.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from molt_train.algorithms.loss import LOG_RATIO_LIMIT, bounded_exp


def k1(logprobs_N: Tensor, reference_N: Tensor) -> Tensor:
    """d = ℓ − ℓ_ref."""
    return logprobs_N - reference_N


def k2(logprobs_N: Tensor, reference_N: Tensor) -> Tensor:
    """d² / 2."""
    return (logprobs_N - reference_N) ** 2 / 2


def k3(logprobs_N: Tensor, reference_N: Tensor) -> Tensor:
    """e^{−d} − 1 + d."""
    d_N = (logprobs_N - reference_N).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return bounded_exp(-d_N) - 1 + d_N


def k3_rollout(logprobs_N: Tensor, rollout_N: Tensor) -> Tensor:
    """e^{d} − 1 − d: the divergence from the policy that sampled to the one being trained."""
    d_N = (logprobs_N - rollout_N).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return bounded_exp(d_N) - 1 - d_N


KL_ESTIMATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"k1": k1, "k2": k2, "k3": k3}
"""Estimators against the reference model, by name."""


def adapted_coefficient(
    coefficient: float, kl: float, target: float, num_episodes: int, horizon: float
) -> float:
    """The coefficient moved towards the target KL: c · (1 + clip(kl / target − 1, ±.2) · n / horizon)."""
    error = max(-0.2, min(0.2, kl / target - 1))
    return coefficient * (1 + error * num_episodes / horizon)
