"""The names that a recipe may use are the keys of the trainer's tables."""

from __future__ import annotations

from typing import get_args

from molt_train.algorithms import correction
from molt_train.algorithms.advantage import ADVANTAGES
from molt_train.algorithms.aggregate import AGGREGATIONS
from molt_train.algorithms.kl import KL_ESTIMATORS
from molt_train.algorithms.loss import LOSSES
from molt_train.config import algorithm as names
from molt_train.config import optimizer as config_optimizer
from molt_train.config.rollout import NAMED_REWARDS
from molt_train.model import optimizer as model_optimizer
from molt_train.rewards import REWARDS


def test_advantages() -> None:
    assert set(get_args(names.Advantage)) == set(ADVANTAGES)


def test_losses() -> None:
    assert set(get_args(names.Loss)) == set(LOSSES)


def test_rewards() -> None:
    assert set(NAMED_REWARDS) == set(REWARDS)


def test_kl_estimators() -> None:
    assert set(get_args(names.KlKind)) == set(KL_ESTIMATORS)


def test_aggregations() -> None:
    assert get_args(names.Aggregation) == AGGREGATIONS


def test_correction() -> None:
    assert get_args(names.CorrectionLevel) == get_args(correction.Level)
    assert get_args(names.CorrectionMode) == get_args(correction.Mode)


def test_schedules() -> None:
    assert get_args(config_optimizer.Schedule) == get_args(model_optimizer.Schedule)
