"""The learner's processes: where this one stands, and sums over them.

In: section `parallel`, a rank and an address. Out: `Ranks`, with a process group behind it when there are
several.

Processes are numbered replica by replica, in each shard by shard, in each the parts of the matrices. The
`sp_size` neighbouring shards work on parts of the same sequences; all others on sequences of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from molt_train.config.parallel import ParallelConfig


@dataclass(frozen=True)
class Ranks:
    """One process's place in the grid."""

    rank: int = 0
    """Its number, from 0."""
    num_data: int = 1
    """How many work on sequences of their own."""
    data_rank: int = 0
    """Which of these it is."""
    num_sequence: int = 1
    """How many share each sequence."""
    sequence_rank: int = 0
    """Which part of each sequence it has."""
    num_tensor: int = 1
    """How many share each matrix, on the same tokens."""
    sequence_group: Any = None
    """Process group of those that share its sequences."""

    @property
    def num_processes(self) -> int:
        """Of the whole grid."""
        return self.num_data * self.num_sequence * self.num_tensor

    @property
    def num_batches(self) -> int:
        """Processes over which gradients are averaged: a loss is multiplied by it to be summed instead."""
        return self.num_data * self.num_sequence

    def sums(self, values: Mapping[str, float]) -> dict[str, float]:
        """Each value summed over the tokens of all processes; those on the same tokens count once."""
        return {name: value / self.num_tensor for name, value in self._reduce(values, "sum").items()}

    def maxima(self, values: Mapping[str, float]) -> dict[str, float]:
        """The greatest of each value."""
        return self._reduce(values, "max")

    def _reduce(self, values: Mapping[str, float], how: str) -> dict[str, float]:
        if self.num_processes == 1:
            return dict(values)
        names = sorted(values)
        tensor = torch.tensor([values[name] for name in names], dtype=torch.float64)
        dist.all_reduce(tensor, dist.ReduceOp.SUM if how == "sum" else dist.ReduceOp.MAX)
        return dict(zip(names, tensor.tolist(), strict=True))


ONE_PROCESS = Ranks()


def join(config: ParallelConfig, rank: int, address: str) -> Ranks:
    """Become process `rank` of the grid; `address` is the `host:port` that process 0 listens on.

    Every wait for the others ends after `timeout_s`, with an error. A group of processes lasts as long as
    they do: models keep references of it, so that it cannot be made anew, only be laid out in another grid.
    """
    count = config.num_processes
    if count == 1:
        return Ranks()
    host, _, port = address.rpartition(":")
    # transformers reads its place from the variables that torchrun sets.
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count)}
    os.environ |= {"MASTER_ADDR": host, "MASTER_PORT": port}
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    timeout = timedelta(seconds=config.timeout_s)
    if not dist.is_initialized():
        dist.init_process_group(
            backend, init_method=f"tcp://{address}", rank=rank, world_size=count, timeout=timeout
        )
    batch, tensor = divmod(rank, config.tp_size)
    group = None
    if config.sp_size > 1:
        for first in range(0, config.replicas * config.fsdp_size, config.sp_size):
            for part in range(config.tp_size):
                members = [place * config.tp_size + part for place in range(first, first + config.sp_size)]
                made = dist.new_group(members, timeout=timeout)
                group = made if part == tensor and first <= batch < first + config.sp_size else group
    return Ranks(
        rank=rank,
        num_data=config.replicas * config.fsdp_size // config.sp_size,
        data_rank=batch // config.sp_size,
        num_sequence=config.sp_size,
        sequence_rank=batch % config.sp_size,
        num_tensor=config.tp_size,
        sequence_group=group,
    )


def leave() -> None:
    """Give the process group back; idempotent."""
    if dist.is_initialized():
        dist.destroy_process_group()
