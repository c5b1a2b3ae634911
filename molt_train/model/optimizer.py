"""The optimizer and its learning rate.

In: a model's parameters and the `[optimizer]` section's numbers. Out: an AdamW whose rate follows a schedule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch.distributed.tensor import DTensor

Schedule = Literal["constant", "linear", "cosine"]


def build_adamw(
    parameters: Iterable[torch.nn.Parameter],
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
) -> torch.optim.AdamW:
    """AdamW; matrices decay, vectors (norms, biases) do not. Parameters on different grids of processes are
    in groups of their own, since one call cannot mix them."""
    groups: dict[Any, list[torch.nn.Parameter]] = {}
    for parameter in parameters:
        if parameter.requires_grad:
            grid = parameter.device_mesh if isinstance(parameter, DTensor) else None
            groups.setdefault((parameter.ndim >= 2, grid), []).append(parameter)
    described = [
        {"params": members, "weight_decay": weight_decay if decays else 0.0}
        for (decays, _), members in groups.items()
    ]
    return torch.optim.AdamW(described, lr=lr, betas=betas, eps=eps, fused=True)


def learning_rate(step: int, peak: float, warmup_steps: int, total_steps: int, schedule: Schedule) -> float:
    """The rate of optimizer step `step` (from 0): a linear rise to `peak`, then constant or a fall to 0."""
    if step < warmup_steps:
        return peak * (step + 1) / warmup_steps
    done = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    match schedule:
        case "constant":
            return peak
        case "linear":
            return peak * max(0.0, 1.0 - done)
        case "cosine":
            return peak * 0.5 * (1.0 + math.cos(math.pi * min(1.0, done)))


def set_learning_rate(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Use this rate for the next step."""
    for group in optimizer.param_groups:
        group["lr"] = lr
