"""The names that a recipe may use are the keys of the trainer's tables."""

from __future__ import annotations

from typing import get_args

from molt_train.algorithms.advantage import ADVANTAGES
from molt_train.algorithms.loss import LOSSES
from molt_train.config import algorithm as names
from molt_train.config.rollout import NAMED_REWARDS
from molt_train.rewards import REWARDS


def test_advantages() -> None:
    assert set(get_args(names.Advantage)) == set(ADVANTAGES)


def test_losses() -> None:
    assert set(get_args(names.Loss)) == set(LOSSES)


def test_rewards() -> None:
    assert set(NAMED_REWARDS) == set(REWARDS)
