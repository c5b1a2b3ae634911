"""Advantages of episodes and of tokens.

In: rewards and group numbers of a batch's episodes. Out: advantages, float64.
Shapes: E episodes that have a reward and an action token, T tokens of one episode's segments in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
EpisodeAdvantage = Callable[[Floats, Ints, Ints], Floats]
"""(rewards_E, groups_E, action_lengths_E) -> advantages_E"""

_STD_EPSILON = 1e-9
_MIN_VARIANCE = 1e-8


def grpo(rewards_E: Floats, groups_E: Ints, lengths_E: Ints) -> Floats:
    """(r − mean_g) / (std_g + 1e-9), unbiased: 0 in a group of one or of equal rewards (arXiv:2402.03300)."""
    centred_E = dr_grpo(rewards_E, groups_E, lengths_E)
    counts_G = _per_group(groups_E, np.ones_like(rewards_E))
    squares_G = _per_group(groups_E, centred_E**2)
    std_G = np.sqrt(squares_G / np.maximum(counts_G - 1, 1))
    return centred_E / (std_G[groups_E] + _STD_EPSILON)


def dr_grpo(rewards_E: Floats, groups_E: Ints, lengths_E: Ints) -> Floats:
    """r − mean_g (arXiv:2503.20783). Equal rewards, found by equality and not by rounding, give exactly 0."""
    counts_G = _per_group(groups_E, np.ones_like(rewards_E))
    means_G = _per_group(groups_E, rewards_E) / counts_G
    return np.where(_flat_group(rewards_E, groups_E)[groups_E], 0.0, rewards_E - means_G[groups_E])


def rloo(rewards_E: Floats, groups_E: Ints, lengths_E: Ints) -> Floats:
    """r − mean of the group's other rewards; a group of one keeps r (arXiv:2402.14740)."""
    counts_G = _per_group(groups_E, np.ones_like(rewards_E))
    centred_E = dr_grpo(rewards_E, groups_E, lengths_E)
    scale_G = counts_G / np.maximum(counts_G - 1, 1)
    return np.where(counts_G[groups_E] == 1, rewards_E, centred_E * scale_G[groups_E])


def batch_baseline(rewards_E: Floats, groups_E: Ints, lengths_E: Ints) -> Floats:
    """r − mean over the batch."""
    return rewards_E - rewards_E.mean()


def reinforce_baseline(rewards_E: Floats, groups_E: Ints, lengths_E: Ints) -> Floats:
    """r − mean_g, whitened over the batch's action tokens."""
    return whiten(dr_grpo(rewards_E, groups_E, lengths_E), lengths_E.astype(np.float64))


EPISODE_ADVANTAGES: dict[str, EpisodeAdvantage] = {
    "grpo": grpo,
    "dr_grpo": dr_grpo,
    "rloo": rloo,
    "batch_baseline": batch_baseline,
    "reinforce_baseline": reinforce_baseline,
}
"""Estimators that give one number per episode, for all its action tokens."""

ADVANTAGES: tuple[str, ...] = (*EPISODE_ADVANTAGES, "reinforce")
"""All estimators by name; `reinforce` gives one number per token (`reinforce_returns`, whitened)."""


def reinforce_returns(
    reward: float, action_mask_T: NDArray[np.bool_], kl_T: Floats | None, gamma: float, kl_coef: float
) -> Floats:
    """G_t = ρ_t + γ G_{t+1} with ρ_t = −c · kl_t at actions, plus the reward at the last action.

    Args:
        reward: the episode's reward.
        action_mask_T: which tokens were sampled; at least one.
        kl_T: per-token KL to the reference; None for no penalty. Values outside the mask are not read.
        gamma: discount per token.
        kl_coef: weight c of the penalty.
    """
    assert action_mask_T.any(), "an episode without an action token has no return"
    rewards_T = np.zeros(len(action_mask_T))
    if kl_T is not None:
        rewards_T[action_mask_T] = -kl_coef * kl_T[action_mask_T]
    last = int(np.flatnonzero(action_mask_T)[-1])
    rewards_T[last] += reward
    returns_T = np.zeros_like(rewards_T)
    following = 0.0
    for t in range(last, -1, -1):
        following = rewards_T[t] + gamma * following
        returns_T[t] = following
    return returns_T


def whiten(values: Floats, weights: Floats | None = None) -> Floats:
    """(x − mean) / sqrt(max(var, 1e-8)), population variance, each value counted `weights` times."""
    weights = np.ones_like(values) if weights is None else weights
    total = weights.sum()
    mean = (values * weights).sum() / total
    variance = ((values - mean) ** 2 * weights).sum() / total
    return (values - mean) / np.sqrt(max(variance, _MIN_VARIANCE))


def _per_group(groups_E: Ints, values_E: Floats) -> Floats:
    """(G,) sums by group; groups are numbered from 0."""
    return np.bincount(groups_E, weights=values_E, minlength=int(groups_E.max()) + 1).astype(np.float64)


def _flat_group(rewards_E: Floats, groups_E: Ints) -> NDArray[np.bool_]:
    """(G,) whether all rewards of a group are equal."""
    highest_G = np.full(int(groups_E.max()) + 1, -np.inf)
    lowest_G = np.full_like(highest_G, np.inf)
    np.maximum.at(highest_G, groups_E, rewards_E)
    np.minimum.at(lowest_G, groups_E, rewards_E)
    return highest_G == lowest_G
