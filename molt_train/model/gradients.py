"""Gradients of a model whose parameters lie on several grids of processes.

In: parameters after the backward passes. Out: their common norm, and gradients no longer than asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def clip_gradients(parameters: Iterable[torch.nn.Parameter], max_norm: float) -> float:
    """Scale all gradients so that their common norm is at most `max_norm`; gives the norm before.

    Norms are taken per grid and placement, since one call cannot mix them, and joined by their squares.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    kinds: dict[Any, list[Tensor]] = {}
    for gradient in gradients:
        kind = (gradient.device_mesh, gradient.placements) if isinstance(gradient, DTensor) else None
        kinds.setdefault(kind, []).append(gradient)
    squares = [float(_whole(torch.nn.utils.get_total_norm(kind))) ** 2 for kind in kinds.values()]
    norm = math.sqrt(sum(squares)) if all(map(math.isfinite, squares)) else math.nan
    if norm > max_norm:
        for gradient in gradients:
            _local(gradient).mul_(max_norm / (norm + 1e-6))
    return norm


def sum_partial_gradients(model: PreTrainedModel, name_ends: Sequence[str]) -> None:
    """Sum over tensor-parallel processes the gradients of weights that each used on its own heads."""
    meshes = model._mesh_manager
    assert meshes is not None, "the model lies over several processes"
    group = meshes.get_mesh("tp").get_group()
    for name, parameter in model.named_parameters():
        if name.endswith(tuple(name_ends)) and parameter.grad is not None:
            dist.all_reduce(_local(parameter.grad), group=group)


def _whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def _local(tensor: Tensor) -> Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
