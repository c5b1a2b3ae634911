"""Aggregation weights: literal values, slow loops."""

from __future__ import annotations

import random
from typing import cast

import numpy as np
import pytest

from molt_train.algorithms.aggregate import AGGREGATIONS, Aggregation, aggregation_weights
from tests.molt_train.algorithms import slow

ROWS = [[1.0, 2.0, 3.0], [4.0], [1.0, 1.0]]
PROMPTS = [0, 0, 1]
LITERAL = {
    "token_mean": 2.0,
    "seq_mean_token_mean": 2.333333,
    "seq_mean_token_sum": 4.0,
    "seq_mean_token_sum_norm": 0.5,
    "prompt_mean_token_mean": 1.75,
}


def weighted(kind: str, rows: list[list[float]], prompts: list[int], norm_tokens: int = 8) -> float:
    lengths = [len(row) for row in rows]
    weights = aggregation_weights(
        cast("Aggregation", kind),
        np.repeat(np.arange(len(rows)) * 7 + 3, lengths),
        np.repeat(prompts, lengths),
        norm_tokens,
    )
    return float((weights * np.concatenate(rows)).sum())


def test_every_aggregation_is_tested() -> None:
    assert set(LITERAL) == set(AGGREGATIONS)


@pytest.mark.parametrize("kind", LITERAL)
def test_literal_values(kind: str) -> None:
    assert weighted(kind, ROWS, PROMPTS) == pytest.approx(LITERAL[kind], abs=1e-6)
    assert slow.aggregate(kind, ROWS, PROMPTS, 8) == pytest.approx(LITERAL[kind], abs=1e-6)


@pytest.mark.parametrize("kind", LITERAL)
def test_random_rows_equal_the_slow_loop(kind: str) -> None:
    draw = random.Random(kind)
    for _ in range(30):
        rows = [[draw.gauss(0, 1) for _ in range(draw.randrange(1, 9))] for _ in range(draw.randrange(1, 12))]
        prompts = [draw.randrange(4) * 11 for _ in rows]
        assert weighted(kind, rows, prompts) == pytest.approx(slow.aggregate(kind, rows, prompts, 8))


@pytest.mark.parametrize("kind", AGGREGATIONS)
def test_no_tokens(kind: Aggregation) -> None:
    none = np.zeros(0, dtype=np.int64)
    assert aggregation_weights(kind, none, none, 8).tolist() == []
