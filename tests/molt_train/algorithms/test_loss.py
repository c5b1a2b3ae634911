"""Policy loss and KL estimators: literal values, slow loops, gradients."""

from __future__ import annotations

import math
import random

import pytest
import torch

from molt_train.algorithms.kl import KL_ESTIMATORS, adapted_coefficient, k3_rollout
from molt_train.algorithms.loss import LOSSES, bounded_exp, ppo
from tests.molt_train.algorithms import slow

NEW = [-1.0, -0.5, -2.0, -0.7]
OLD = [-1.2, -0.4, -2.0, -1.5]
ADVANTAGES = [1.0, 1.0, -1.0, -1.0]


def tensor(values: list[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_every_loss_is_tested() -> None:
    assert set(LOSSES) == {"ppo"} and set(KL_ESTIMATORS) == {"k1", "k2", "k3"}


@pytest.mark.parametrize(
    ("dual", "expected"), [(None, [-1.2, -0.904837, 1, 2.225541]), (2.0, [-1.2, -0.904837, 1, 2])]
)
def test_ppo(dual: float | None, expected: list[float]) -> None:
    loss = ppo(tensor(NEW), tensor(OLD), tensor(ADVANTAGES), 0.2, 0.2, dual)
    torch.testing.assert_close(loss.loss_N, tensor(expected), atol=1e-6, rtol=0)
    torch.testing.assert_close(loss.ratio_N, tensor([1.221403, 0.904837, 1, 2.225541]), atol=1e-6, rtol=0)
    assert loss.clipped_N.tolist() == [True, False, False, dual is not None]
    assert slow.ppo(NEW, OLD, ADVANTAGES, 0.2, 0.2, dual) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("dual", [None, 1.5])
def test_ppo_on_random_tokens_equals_the_slow_loop(dual: float | None) -> None:
    draw = random.Random(3)
    new, old, advantages = ([draw.gauss(-1, 1.5) for _ in range(400)] for _ in range(3))
    fast = ppo(tensor(new), tensor(old), tensor(advantages), 0.1, 0.3, dual)
    expected = slow.ppo(new, old, advantages, 0.1, 0.3, dual)
    torch.testing.assert_close(fast.loss_N, tensor(expected), atol=1e-10, rtol=1e-10)


def test_a_clipped_token_has_no_gradient_and_another_has_ratio_times_advantage() -> None:
    logprobs = tensor(NEW).requires_grad_()
    ppo(logprobs, tensor(OLD), tensor(ADVANTAGES), 0.2, 0.2).loss_N.sum().backward()
    torch.testing.assert_close(logprobs.grad, tensor([0, -0.904837, 1, 2.225541]), atol=1e-6, rtol=0)


def test_the_bounds_are_not_symmetric() -> None:
    ratios = tensor([math.log(0.5), math.log(1.5)])
    loss = ppo(ratios, tensor([0, 0]), tensor([-1, 1]), clip_low=0.1, clip_high=0.4)
    torch.testing.assert_close(loss.loss_N, tensor([0.9, -1.4]))


def test_log_ratios_are_bounded() -> None:
    huge = bounded_exp(tensor([-1e4, 1e4, math.inf]))
    assert huge.tolist() == [math.exp(-30), math.exp(30), math.exp(30)]
    assert torch.isfinite(ppo(tensor([0, -900]), tensor([-900, 0]), tensor([-1, 1]), 0.2, 0.2).loss_N).all()


@pytest.mark.parametrize(
    ("d", "k2", "k3", "rollout"),
    [(0.3, 0.045, 0.04081822, 0.04985881), (-0.3, 0.045, 0.04985881, 0.04081822)],
)
def test_kl_estimators(d: float, k2: float, k3: float, rollout: float) -> None:
    one, two = tensor([d - 1.0]), tensor([-1.0])
    assert KL_ESTIMATORS["k1"](one, two).item() == pytest.approx(d)
    assert KL_ESTIMATORS["k2"](one, two).item() == pytest.approx(k2, abs=1e-8)
    assert KL_ESTIMATORS["k3"](one, two).item() == pytest.approx(k3, abs=1e-8)
    assert k3_rollout(one, two).item() == pytest.approx(rollout, abs=1e-8)


def test_kl_estimators_of_random_tokens_equal_the_formulas() -> None:
    draw = random.Random(4)
    for _ in range(100):
        new, reference = draw.gauss(-2, 2), draw.gauss(-2, 2)
        d = new - reference
        expected = {"k1": d, "k2": d * d / 2, "k3": math.exp(-d) - 1 + d}
        for name, estimator in KL_ESTIMATORS.items():
            assert estimator(tensor([new]), tensor([reference])).item() == pytest.approx(expected[name])
        found = k3_rollout(tensor([new]), tensor([reference])).item()
        assert found == pytest.approx(math.exp(d) - 1 - d)


def test_k1_is_unbiased_and_k3_is_too() -> None:
    """Expectations under the policy, summed exactly over a small vocabulary."""
    policy = torch.log_softmax(tensor([0.3, -1.0, 2.0]), 0)
    reference = torch.log_softmax(tensor([1.0, 0.0, 0.5]), 0)
    kl = (policy.exp() * (policy - reference)).sum()
    for name in ("k1", "k3"):
        torch.testing.assert_close((policy.exp() * KL_ESTIMATORS[name](policy, reference)).sum(), kl)


def test_the_adaptive_coefficient() -> None:
    assert adapted_coefficient(0.1, 0.02, 0.01, 512, 1e4) == pytest.approx(0.101024)
    assert adapted_coefficient(0.1, 0.005, 0.01, 512, 1e4) == pytest.approx(0.098976)
    assert adapted_coefficient(0.1, 0.0101, 0.01, 512, 1e4) == pytest.approx(0.1 * (1 + 0.01 * 0.0512))
