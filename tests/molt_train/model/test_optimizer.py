"""Which parameters decay, and the course of the learning rate."""

from __future__ import annotations

import math

import pytest
import torch

from molt_train.model.optimizer import Schedule, build_adamw, learning_rate, set_learning_rate


def test_matrices_decay_and_vectors_do_not() -> None:
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.bias.fill_(1.0)
    before = layer.weight.detach().clone()
    optimizer = build_adamw(layer.parameters(), lr=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.5)
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    torch.testing.assert_close(layer.weight.detach(), before * 0.95)
    assert layer.bias.tolist() == [1.0, 1.0]


def test_frozen_parameters_are_left_out() -> None:
    layer = torch.nn.Linear(3, 2)
    layer.weight.requires_grad_(False)
    optimizer = build_adamw(layer.parameters(), lr=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.5)
    assert [len(group["params"]) for group in optimizer.param_groups] == [1]
    set_learning_rate(optimizer, 0.25)
    assert optimizer.param_groups[0]["lr"] == 0.25


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        ("constant", 0, 0.5),
        ("constant", 1, 1.0),
        ("constant", 12, 1.0),
        ("linear", 2, 1.0),
        ("linear", 7, 0.5),
        ("linear", 12, 0.0),
        ("linear", 99, 0.0),
        ("cosine", 7, 0.5),
        ("cosine", 4, 0.5 + 0.5 * math.cos(math.pi * 0.2)),
        ("cosine", 12, 0.0),
    ],
)
def test_the_schedule(schedule: Schedule, step: int, expected: float) -> None:
    assert learning_rate(step, 1.0, 2, 12, schedule) == pytest.approx(expected, abs=1e-12)
