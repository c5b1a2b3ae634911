"""The names that a recipe may use are the keys of the trainer's tables."""

from __future__ import annotations

from typing import get_args

import pytest

from molt_train.config import algorithm as names

tables = pytest.importorskip("molt_train.algorithms", reason="needs torch")


def test_names_equal_the_tables_keys() -> None:
    from molt_train.algorithms.advantage import ADVANTAGES
    from molt_train.algorithms.loss import LOSSES

    assert set(get_args(names.Advantage)) == set(ADVANTAGES)
    assert set(get_args(names.Loss)) == set(LOSSES)
