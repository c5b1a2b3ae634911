"""docs/algorithms.md names every option of the section, and the tables offer what the config accepts."""

from __future__ import annotations

from typing import get_args

import pytest

from molt_train.algorithms import aggregate, correction
from molt_train.algorithms.advantage import ADVANTAGES
from molt_train.algorithms.kl import KL_ESTIMATORS
from molt_train.algorithms.loss import LOSSES
from molt_train.config import algorithm
from molt_train.config.algorithm import AlgorithmConfig
from tests.shared_data import CHECKOUT


@pytest.mark.parametrize(
    ("accepted", "offered"),
    [
        (algorithm.Advantage, ADVANTAGES),
        (algorithm.Loss, LOSSES),
        (algorithm.KlKind, KL_ESTIMATORS),
        (algorithm.CorrectionLevel, get_args(correction.Level)),
        (algorithm.CorrectionMode, get_args(correction.Mode)),
        (algorithm.Aggregation, aggregate.AGGREGATIONS),
    ],
)
def test_the_config_accepts_what_the_code_offers_and_the_page_explains_it(
    accepted: object, offered: object
) -> None:
    names = set(get_args(accepted))
    assert names == set(offered)  # type: ignore[call-overload]
    page = (CHECKOUT / "docs" / "algorithms.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in names)


@pytest.mark.parametrize("key", AlgorithmConfig.model_fields)
def test_the_page_names_every_key(key: str) -> None:
    page = (CHECKOUT / "docs" / "algorithms.md").read_text(encoding="utf-8")
    assert f"`{key}`" in page or f"`algorithm.{key}`" in page
