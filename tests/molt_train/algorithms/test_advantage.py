"""Advantages: the literal values of docs/algorithms.md, and slow loops on random batches."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from molt_train.algorithms.advantage import ADVANTAGES, EPISODE_ADVANTAGES, reinforce_returns, whiten
from tests.molt_train.algorithms import slow

REWARDS = [1.0, 0.0, 0.0, 1.0, 0.5, 1.5]
GROUPS = [0, 0, 0, 0, 1, 1]
LENGTHS = [3, 1, 2, 2, 4, 1]
SLOW: dict[str, Callable[..., list[float]]] = {
    "grpo": slow.grpo,
    "dr_grpo": slow.dr_grpo,
    "rloo": slow.rloo,
    "batch_baseline": slow.batch_baseline,
    "reinforce_baseline": slow.reinforce_baseline,
}
LITERAL = {
    "grpo": [0.866025, -0.866025, -0.866025, 0.866025, -0.707107, 0.707107],
    "dr_grpo": [0.5, -0.5, -0.5, 0.5, -0.5, 0.5],
    "rloo": [0.666667, -0.666667, -0.666667, 0.666667, -1, 1],
    "batch_baseline": [0.333333, -0.666667, -0.666667, 0.333333, -0.166667, 0.833333],
    "reinforce_baseline": [1.080123, -0.92582, -0.92582, 1.080123, -0.92582, 1.080123],
}


def fast(name: str, rewards: list[float], groups: list[int], lengths: list[int]) -> np.ndarray:
    return EPISODE_ADVANTAGES[name](np.array(rewards), np.array(groups), np.array(lengths))


def test_every_estimator_is_tested() -> None:
    assert set(LITERAL) == set(SLOW) == set(EPISODE_ADVANTAGES)
    assert set(ADVANTAGES) == set(LITERAL) | {"reinforce"}


@pytest.mark.parametrize("name", LITERAL)
def test_literal_values(name: str) -> None:
    np.testing.assert_allclose(fast(name, REWARDS, GROUPS, LENGTHS), LITERAL[name], atol=1e-6)


@pytest.mark.parametrize("name", SLOW)
def test_the_slow_loop_has_the_literal_values_too(name: str) -> None:
    np.testing.assert_allclose(SLOW[name](REWARDS, GROUPS, LENGTHS), LITERAL[name], atol=1e-6)


@pytest.mark.parametrize("name", SLOW)
def test_random_batches_equal_the_slow_loop(name: str) -> None:
    draw = random.Random(name)
    for _ in range(50):
        count = draw.randrange(1, 20)
        names = [draw.randrange(5) for _ in range(count)]
        groups = [sorted(set(names)).index(number) for number in names]
        rewards = [draw.choice([0.0, 1.0, 0.3, draw.gauss(0, 3)]) for _ in range(count)]
        lengths = [draw.randrange(1, 9) for _ in range(count)]
        expected = SLOW[name](rewards, groups, lengths)
        np.testing.assert_allclose(fast(name, rewards, groups, lengths), expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "rloo"])
@pytest.mark.parametrize("reward", [0.3, 0.1 + 0.2, -7.7])
def test_equal_rewards_give_exactly_zero(name: str, reward: float) -> None:
    assert fast(name, [reward] * 8, [0] * 8, [1] * 8).tolist() == [0.0] * 8


@pytest.mark.parametrize("name", SLOW)
def test_equal_rewards_give_no_nan(name: str) -> None:
    assert np.abs(fast(name, [0.3] * 8, [0, 0, 0, 0, 1, 1, 1, 1], [1, 2] * 4)).max() < 1e-9


def test_a_group_of_one() -> None:
    assert fast("grpo", [3.0], [0], [1]).tolist() == [0.0]
    assert fast("dr_grpo", [3.0], [0], [1]).tolist() == [0.0]
    assert fast("rloo", [3.0], [0], [1]).tolist() == [3.0]


@pytest.mark.parametrize("name", ["grpo", "rloo", "dr_grpo"])
def test_leave_one_out_and_std_stay_small(name: str) -> None:
    assert np.abs(fast(name, [1.0, 0.0, 0.0, 0.0], [0] * 4, [1] * 4)).max() <= 1.5 + 1e-9


MASK = [False, True, True, False, False, True, True, False]
KL = [0, 0.1, 0.2, 0, 0, -0.1, 0.3, 0]


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (1.0, [0.975, 0.975, 0.98, 0.99, 0.99, 0.99, 0.985, 0]),
        (0.9, [0.513822, 0.570913, 0.639904, 0.722115, 0.80235, 0.8915, 0.985, 0]),
    ],
)
def test_reinforce_returns(gamma: float, expected: list[float]) -> None:
    returns = reinforce_returns(1.0, np.array(MASK), np.array(KL), gamma, 0.05)
    np.testing.assert_allclose(returns, expected, atol=1e-6)
    np.testing.assert_allclose(slow.reinforce_returns(1.0, MASK, KL, gamma, 0.05), expected, atol=1e-6)


def test_reinforce_returns_of_random_episodes_equal_the_slow_loop() -> None:
    draw = random.Random(5)
    for _ in range(50):
        mask = [draw.random() < 0.5 for _ in range(draw.randrange(1, 20))] + [True]
        mask += [False] * draw.randrange(3)
        kl = [draw.gauss(0, 1) for _ in mask]
        gamma, reward = draw.random(), draw.gauss(0, 2)
        returns = reinforce_returns(reward, np.array(mask), np.array(kl), gamma, 0.1)
        np.testing.assert_allclose(returns, slow.reinforce_returns(reward, mask, kl, gamma, 0.1), atol=1e-12)


def test_nan_outside_the_mask_is_not_read() -> None:
    kl = np.where(MASK, KL, np.nan)
    returns = reinforce_returns(1.0, np.array(MASK), kl, 1.0, 0.05)
    np.testing.assert_allclose(returns, [0.975, 0.975, 0.98, 0.99, 0.99, 0.99, 0.985, 0], atol=1e-6)


def test_no_penalty_without_kl() -> None:
    assert reinforce_returns(2.0, np.array(MASK), None, 1.0, 0.05).tolist() == [2.0] * 7 + [0.0]


def test_whitening_counts_values_by_weight_and_has_a_floor() -> None:
    values, weights = np.array([0.5, -0.5, 2.0]), np.array([3.0, 1.0, 2.0])
    np.testing.assert_allclose(whiten(values, weights), whiten(np.repeat(values, [3, 1, 2]))[[0, 3, 4]])
    spread = whiten(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(spread, [-(1.5**0.5), 0, 1.5**0.5])
    assert np.abs(whiten(np.array([1e-6, -1e-6]))).max() == pytest.approx(1e-2)
