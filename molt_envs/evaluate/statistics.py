"""What an evaluation's numbers say: pass@k and means with their 95 % intervals.

In: counts of solved episodes, scores, one value per task. Out: estimates. Tasks are the unit that is sampled:
several episodes of one task say little more about other tasks than one does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True)
class Estimate:
    """A mean and where it plausibly lies."""

    value: float
    """The estimate itself."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""


def pass_at_k(num_samples: int, num_solved: int, k: int) -> float:
    """Probability that at least one of `k` samples of a task solves it, estimated without bias.

    One minus the share of the k-subsets of the samples that hold no solved one (Chen et al. 2021,
    arXiv:2107.03374, equation 1), as a product that does not overflow.

    Raises:
        ValueError: fewer samples than `k`, or counts that cannot be.
    """
    if not 0 <= num_solved <= num_samples:
        raise ValueError(f"{num_solved} solved of {num_samples} samples; it lies between 0 and all")
    if not 1 <= k <= num_samples:
        raise ValueError(f"pass@{k} needs at least 1 and at most {num_samples} samples of each task")
    if num_samples - num_solved < k:
        return 1.0
    first = num_samples - num_solved + 1
    return 1.0 - math.prod(1.0 - k / i for i in range(first, num_samples + 1))


def wilson(num_solved: float, num_trials: int) -> Estimate:
    """A rate with Wilson's score interval, which stays within [0, 1] and is right for rates near its ends.

    Args:
        num_solved: successes; a sum of per-task rates is taken too and gives a cautious interval.
        num_trials: independent trials, at least 1.

    Raises:
        ValueError: no trials.
    """
    if num_trials < 1:
        raise ValueError("a rate of no trials; evaluate at least one episode")
    rate, z2 = num_solved / num_trials, _Z_95**2
    denominator = 1 + z2 / num_trials
    centre = (rate + z2 / (2 * num_trials)) / denominator
    spread = rate * (1 - rate) / num_trials + z2 / (4 * num_trials**2)
    half = _Z_95 * math.sqrt(max(spread, 0.0)) / denominator
    return Estimate(rate, max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half)))


def mean(values: Sequence[float]) -> Estimate:
    """A mean of independent values with its normal 95 % interval; one value has no width to show.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("a mean of nothing; evaluate at least one episode")
    num_values = len(values)
    centre = math.fsum(values) / num_values
    if num_values == 1:
        return Estimate(centre, centre, centre)
    variance = math.fsum((value - centre) ** 2 for value in values) / (num_values - 1)
    half = _Z_95 * math.sqrt(variance / num_values)
    return Estimate(centre, centre - half, centre + half)
