"""Dynamic sampling's rule and the price of length."""

from __future__ import annotations

import pytest

from molt_train.algorithms.shaping import keeps_group, overlong_penalty


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([0.0, 1.0], True),
        ([0.0, 0.0], False),
        ([1.0, 1.0], False),
        ([0.2, 0.2], True),
        ([], False),
    ],
)
def test_a_group_is_kept_strictly_between_the_bounds(scores: list[float], kept: bool) -> None:
    assert keeps_group(scores, 0.0, 1.0) is kept


def test_the_mean_decides_not_the_extremes() -> None:
    assert keeps_group([0.0, 0.0, 0.0, 1.0], 0.2, 0.3)
    assert not keeps_group([0.0, 0.0, 0.0, 1.0], 0.25, 1.0)


@pytest.mark.parametrize(
    ("num_tokens", "penalty"), [(0, 0), (900, 0), (901, 0.01), (950, 0.5), (1000, 1), (1200, 1)]
)
def test_the_overlong_penalty(num_tokens: int, penalty: float) -> None:
    assert overlong_penalty(num_tokens, 1000, 100, 1.0) == pytest.approx(penalty)
    slow = 1.0 * min(max(num_tokens - 900, 0), 100) / 100
    assert overlong_penalty(num_tokens, 1000, 100, 2.5) == pytest.approx(2.5 * slow)
