"""Section `parallel`: how the learner's model lies over processes. In: TOML values. Out: `ParallelConfig`."""

from __future__ import annotations

from pydantic import Field, model_validator

from molt_train.config.base import Section


class ParallelConfig(Section):
    """Sizes of the learner's process grid; all 1: one process. `replicas · fsdp_size · tp_size` processes."""

    fsdp_size: int = Field(default=1, ge=1, le=65_536)
    """Processes that share parameters, gradients and optimizer state between them (FSDP2)."""
    replicas: int = Field(default=1, ge=1, le=65_536)
    """Copies of such a group (HSDP): one per node keeps the gathering of parameters inside of nodes."""
    tp_size: int = Field(default=1, ge=1, le=1024)
    """Processes that split each matrix (tensor parallel)."""
    ep_size: int = Field(default=1, ge=1, le=65_536)
    """Processes that hold different experts; a multiple of `tp_size` that divides `fsdp_size · tp_size`."""
    sp_size: int = Field(default=1, ge=1, le=1024)
    """Processes that split each sequence (Ulysses); divides `fsdp_size`."""
    cpu_offload: bool = False
    """Keep parameters, gradients and optimizer state in the host's memory between uses."""
    timeout_s: float = Field(default=600.0, gt=0, le=86_400)
    """Longest wait of one process for the others; then the group is taken for broken."""
    max_restarts: int = Field(default=3, ge=0, le=1000)
    """How often a run goes on by itself from its last checkpoint after a learner process was lost."""

    @property
    def num_processes(self) -> int:
        """Of the whole grid."""
        return self.replicas * self.fsdp_size * self.tp_size

    @model_validator(mode="after")
    def _check_sizes_fit(self) -> ParallelConfig:
        if self.ep_size > 1 and self.ep_size % self.tp_size:
            raise ValueError(
                f"parallel.ep_size = {self.ep_size} is no multiple of tp_size = {self.tp_size}; the experts' "
                "groups are made of whole groups of tensor parallelism"
            )
        if (self.fsdp_size * self.tp_size) % self.ep_size:
            raise ValueError(
                f"parallel.ep_size = {self.ep_size} does not divide fsdp_size · tp_size = "
                f"{self.fsdp_size * self.tp_size}; raise fsdp_size or lower ep_size"
            )
        if self.fsdp_size % self.sp_size:
            raise ValueError(
                f"parallel.sp_size = {self.sp_size} does not divide fsdp_size = {self.fsdp_size}; "
                "the parts of a sequence lie inside of one sharding group"
            )
        return self
