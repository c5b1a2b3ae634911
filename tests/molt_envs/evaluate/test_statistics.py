"""Pass@k and intervals: against enumeration and literal values."""

from __future__ import annotations

from itertools import combinations

import pytest

from molt_envs.evaluate.statistics import mean, pass_at_k, wilson


@pytest.mark.parametrize(
    ("num_samples", "num_solved", "k"), [(5, 2, 1), (5, 2, 3), (6, 1, 2), (4, 4, 2), (4, 0, 4)]
)
def test_pass_at_k_is_the_share_of_subsets_with_a_solved_sample(
    num_samples: int, num_solved: int, k: int
) -> None:
    subsets = list(combinations([True] * num_solved + [False] * (num_samples - num_solved), k))
    assert pass_at_k(num_samples, num_solved, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize(("num_samples", "num_solved", "k"), [(2, 1, 3), (2, 3, 1), (2, 1, 0)])
def test_impossible_counts_are_refused(num_samples: int, num_solved: int, k: int) -> None:
    with pytest.raises(ValueError, match="samples"):
        pass_at_k(num_samples, num_solved, k)


def test_wilson_has_its_literal_values() -> None:
    half, none = wilson(5, 10), wilson(0, 20)
    assert (half.low, half.value, half.high) == pytest.approx((0.2366, 0.5, 0.7634), abs=1e-4)
    assert (none.low, none.value, none.high) == pytest.approx((0.0, 0.0, 0.1611), abs=1e-4)


def test_mean_has_a_normal_interval() -> None:
    estimate = mean([0.0, 1.0, 2.0, 3.0])
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((0.2348, 1.5, 2.7652), abs=1e-4)


def test_no_episodes_have_no_estimate() -> None:
    with pytest.raises(ValueError, match="evaluate at least one"):
        wilson(0, 0)
    with pytest.raises(ValueError, match="evaluate at least one"):
        mean([])
