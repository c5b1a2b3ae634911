"""Small models in every architecture, and one training step of them on any grid of processes.

In: a grid. Out: whole gradients and metrics, to compare with those of one process.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from molt_train.config import Config
from molt_train.learner import Learner
from molt_train.loop.actor import load_policy
from molt_train.model.new_model import NewModelSpec, new_model
from molt_train.model.ranks import ONE_PROCESS, join
from tests.molt_train.episodes import random_batch

ENV_ID = "molt/WebShop-v0"
ARCHITECTURES = ("qwen3", "qwen3_moe", "deepseek_v3")


Step = tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], dict[str, float]]


@dataclass(frozen=True)
class Case:
    """One training step on one grid."""

    model: str
    """Architecture."""
    grid: dict[str, int] = field(default_factory=dict)
    """Section `parallel`."""
    micro_batch_tokens: int = 96
    """Small: gradients accumulate; large: some processes have nothing to do."""
    kl_coef: float = 0.0
    """Above 0 a reference model is there too."""

    @property
    def name(self) -> str:
        """For the test's report."""
        sizes = "-".join(f"{key.removesuffix('_size')}{value}" for key, value in self.grid.items())
        return f"{self.model}-{sizes or 'alone'}-{self.micro_batch_tokens}{'-kl' if self.kl_coef else ''}"


def make_models(folder: Path, **changes: Any) -> Path:
    """One folder per architecture."""
    for architecture in ARCHITECTURES:
        spec = NewModelSpec(
            (ENV_ID,), hidden_size=32, head_dim=16, num_kv_heads=4, intermediate_size=64, vocab_size=515,
            architecture=architecture, expert_size=16, num_episodes=20,
        )  # fmt: skip
        spec = replace(spec, **changes)
        new_model(spec, folder / architecture)
    return folder


def settings(case: Case, models: Path, **train: Any) -> Config:
    """The recipe of a case."""
    return Config.model_validate(
        {
            "algorithm": {"kl_coef": case.kl_coef},
            "train": {"micro_batch_tokens": case.micro_batch_tokens, **train},
            "optimizer": {"clip_norm": "off", "lr": 1e-2, "eps": 0.1},  # updates as smooth as gradients
            "rollout": {"max_context_tokens": 64, "max_turn_tokens": 8},
            "model": {"path": str(models / case.model)},
            "env": {"id": ENV_ID},
            "parallel": {"timeout_s": 60, **case.grid},
        }
    )


def step(case: Case, models: Path, rank: int = 0, address: str = "") -> Step:
    """Whole gradients of a first training step, changes of weights after a second and its metrics, which
    depend on the first; all processes of the grid call it."""
    config = settings(case, models)
    ranks = join(config.parallel, rank, address)
    needs_reference = case.kl_coef > 0 and ranks != ONE_PROCESS
    reference = load_policy(config, config.parallel) if needs_reference else None
    learner = Learner(load_policy(config, config.parallel), config, ranks=ranks, reference=reference)
    before = _weights(learner)
    learner.train_step(random_batch(num_groups=4, group_size=3))
    gradients = {
        name: _whole(parameter.grad)
        for name, parameter in learner.model.named_parameters()
        if parameter.grad is not None
    }
    metrics = learner.train_step(random_batch(1, num_groups=4, group_size=3))
    changes = {name: tensor - before[name] for name, tensor in _weights(learner).items()}
    return gradients, changes, metrics


def _weights(learner: Learner) -> dict[str, torch.Tensor]:
    return {name: _whole(parameter.detach()) for name, parameter in learner.model.named_parameters()}


def largest_relative_gap(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> float:
    """Over all parameters: the norm of the difference as a share of the norm."""
    assert left.keys() == right.keys() and len(left) > 10
    return max(float((left[name] - right[name]).norm() / right[name].norm().clamp_min(1e-9)) for name in left)


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).clone()
