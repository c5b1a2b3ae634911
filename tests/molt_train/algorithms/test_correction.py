"""Correction weights: literal values, slow loops, independence of the order of tokens."""

from __future__ import annotations

import itertools
import random

import pytest
import torch

from molt_train.algorithms.correction import Level, Mode, correction_weights
from tests.molt_train.algorithms import slow

OLD = [-1.2, -0.4, -2.0, -1.5]
ROLLOUT = [-1.1, -0.6, -1.9, -1.45]
RATIOS = [0.904837, 1.221403, 0.904837, 0.951229]
SEQ, GEO = 0.951229, 0.987578


def weights(
    level: Level, mode: Mode, low: float, high: float, sequences: tuple[int, ...] = (0, 0, 0, 0)
) -> list[float]:
    tensors = (torch.tensor(values, dtype=torch.float64) for values in (OLD, ROLLOUT))
    return correction_weights(*tensors, torch.tensor(sequences), level, mode, low, high).tolist()


@pytest.mark.parametrize(
    ("level", "mode", "low", "high", "expected"),
    [
        ("none", "trunc", 0.0, 1.0, [1, 1, 1, 1]),
        ("token", "trunc", 0.0, 99.0, RATIOS),
        ("token", "mask", 0.95, 1.2, [0, 0, 0, 0.951229]),
        ("token", "clip", 0.95, 1.15, [0.95, 1.15, 0.95, 0.951229]),
        ("token", "trunc", 0.95, 1.15, [0.904837, 1.15, 0.904837, 0.951229]),
        ("seq", "trunc", 0.0, 2.0, [SEQ] * 4),
        ("seq", "trunc", 0.0, 0.9, [0.9] * 4),
        ("seq", "clip", 0.96, 2.0, [0.96] * 4),
        ("seq", "mask", 0.95, 1.2, RATIOS),
        ("seq", "mask", 0.96, 1.2, [0, 0, 0, 0]),
        ("geo", "trunc", 0.0, 2.0, [GEO] * 4),
        ("geo", "clip", 0.99, 2.0, [0.99] * 4),
        ("geo", "mask", 0.98, 1.2, RATIOS),
        ("geo", "mask", 0.99, 1.2, [0, 0, 0, 0]),
    ],
)
def test_literal_values(level: Level, mode: Mode, low: float, high: float, expected: list[float]) -> None:
    assert weights(level, mode, low, high) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("level", "mode"), list(itertools.product(("token", "seq", "geo"), ("trunc", "clip", "mask")))
)
def test_random_tokens_equal_the_slow_loop(level: Level, mode: Mode) -> None:
    draw = random.Random(level + mode)
    old, rollout = ([draw.gauss(-1, 0.3) for _ in range(120)] for _ in range(2))
    sequences = [draw.randrange(9) for _ in range(120)]
    fast = correction_weights(
        torch.tensor(old, dtype=torch.float64),
        torch.tensor(rollout, dtype=torch.float64),
        torch.tensor(sequences),
        level,
        mode,
        0.7,
        1.4,
    )
    assert fast.tolist() == pytest.approx(slow.correction(old, rollout, sequences, level, mode, 0.7, 1.4))


def test_a_sequence_is_weighted_by_its_own_tokens() -> None:
    assert weights("seq", "trunc", 0, 9, (0, 1, 0, 1)) == pytest.approx(
        [0.818731, 1.161834, 0.818731, 1.161834], abs=1e-6
    )


def test_weights_are_constants() -> None:
    old = torch.tensor(OLD, requires_grad=True)
    found = correction_weights(
        old, torch.tensor(ROLLOUT), torch.zeros(4, dtype=torch.int64), "geo", "clip", 0, 2
    )
    assert not found.requires_grad


def test_no_tokens() -> None:
    empty = torch.zeros(0)
    assert correction_weights(empty, empty, empty.long(), "seq", "mask", 0, 2).tolist() == []
