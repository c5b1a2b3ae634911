"""Sharded state as whole tensors and back, so that a checkpoint fits any number of processes.

In: a model or an optimizer over several processes. Out: whole tensors by the parameters' names, on process 0;
and these into each process's shards. Every process calls these together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor

if TYPE_CHECKING:
    from transformers import PreTrainedModel

State = dict[str, Any]


@torch.no_grad()
def model_state(model: PreTrainedModel) -> State:
    """Name -> whole tensor, buffers included; on other processes than 0 the values are None."""
    return {name: _gather(tensor) for name, tensor in model.state_dict().items()}


@torch.no_grad()
def load_model_state(model: PreTrainedModel, state: Mapping[str, Tensor]) -> None:
    """Set the model to it. Raises KeyError for a name that is missing."""
    for name, tensor in model.state_dict().items():
        _scatter(state[name], tensor)


@torch.no_grad()
def optimizer_state(model: PreTrainedModel, optimizer: torch.optim.Optimizer) -> State:
    """Parameter's name -> its entries; empty before the first step."""
    named = [(name, optimizer.state.get(parameter)) for name, parameter in model.named_parameters()]
    return {
        name: {key: _gather(value) if isinstance(value, Tensor) else value for key, value in entries.items()}
        for name, entries in named
        if entries
    }


@torch.no_grad()
def load_optimizer_state(
    model: PreTrainedModel, optimizer: torch.optim.Optimizer, state: Mapping[str, Mapping[str, Any]]
) -> None:
    """Set the optimizer to it; a parameter without entries begins anew."""
    for name, parameter in model.named_parameters():
        optimizer.state.pop(parameter, None)
        if name not in state:
            continue
        entries: State = {}
        for key, value in state[name].items():
            entries[key] = value.clone() if isinstance(value, Tensor) else value
            if isinstance(value, Tensor) and value.shape == parameter.shape and value.ndim:
                entries[key] = torch.zeros_like(parameter, dtype=value.dtype)
                _scatter(value, entries[key])
        optimizer.state[parameter] = entries


def _gather(tensor: Tensor) -> Tensor | None:
    whole = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return whole if not dist.is_initialized() or dist.get_rank() == 0 else None


def _scatter(whole: Tensor, into: Tensor) -> None:
    """Copy one's part of a tensor that every process has whole."""
    if not isinstance(into, DTensor):
        into.copy_(whole)
        return
    part = distribute_tensor(whole.to(into.dtype), into.device_mesh, into.placements, src_data_rank=None)
    into.to_local().copy_(part.to_local())
