"""Runs inside vLLM's engine process: takes the policy's weights from a file, all of them or none.

In: the path of a safetensors file under `save_pretrained`'s names. Out: a model whose every parameter is
new, or an error that names those that are not. vLLM imports this module by the name of `WorkerExtension`.
"""
# pyright: reportMissingImports=false, reportCallIssue=false, reportAttributeAccessIssue=false
# pyright: reportArgumentType=false

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory
from vllm.model_executor.layers.fused_moe.fused_moe_method_base import FusedMoEMethodBase
from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload

from molt_train.weight_sync import PublishedWeights, WeightMismatch, read_weights

OWNER = "MOLT_VLLM_OWNER"
"""Environment variable: the process that this one serves."""
BACKEND = "molt-file"
"""Name of the transfer in vLLM's registry."""
_PR_SET_PDEATHSIG = 1


@dataclass
class InitInfo(WeightTransferInitInfo):
    """Nothing is agreed beforehand."""


@dataclass
class UpdateInfo(WeightTransferUpdateInfo):
    """`PublishedWeights` as plain values, which travel to the engine's process."""

    version: int
    path: str
    shapes: dict[str, list[int]]

    def published(self) -> PublishedWeights:
        """The same as the learner published it."""
        shapes = {name: tuple(shape) for name, shape in self.shapes.items()}
        return PublishedWeights(self.version, Path(self.path), shapes)


class FileWeightTransfer(WeightTransferEngine[InitInfo, UpdateInfo]):
    """Loads a published file through the model's own loader, layer by layer."""

    init_info_cls = InitInfo
    update_info_cls = UpdateInfo

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        _die_with_parent()

    def init_transfer_engine(self, init_info: InitInfo) -> None:
        """Nothing to connect."""

    def start_weight_update(self) -> None:
        """Make the layers ready to load."""
        self._names = {name for name, _ in self.model.named_parameters()}
        for module in self.model.modules():
            forget_packed_experts(module)
        initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: UpdateInfo) -> None:
        """Load the file; raises `WeightMismatch` where a parameter of the model is not in it."""
        loaded = self.model.load_weights(read_weights(update_info.published()).items())
        missing = sorted(self._names - set(loaded or ()))
        if missing:
            raise WeightMismatch(
                f"version {update_info.version} left {len(missing)} parameters of the engine as they were: "
                + ", ".join(missing[:5])
            )

    def finish_weight_update(self) -> None:
        """Let kernels take the new values."""
        finalize_layerwise_reload(self.model, self.model_config)
        for module in self.model.modules():
            repack_head(module)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """One file is one update; no accelerator to wait for where the file is read on the CPU."""
        self.receive_weights(self.parse_update_info(update_info))
        if torch.accelerator.is_available():
            torch.accelerator.synchronize()

    def shutdown(self) -> None:
        """Nothing to release."""


def forget_packed_experts(module: torch.nn.Module) -> None:
    """On CPUs experts are packed once, when their kernel is made; without it they are packed again."""
    if isinstance(module, FusedMoEMethodBase) and module.moe_kernel is not None:
        module.moe_kernel = None


def repack_head(module: torch.nn.Module) -> None:
    """A head tied to the embeddings loads nothing itself and would keep a packed copy of the old ones."""
    if isinstance(module, ParallelLMHead):
        module.quant_method.process_weights_after_loading(module)


class WorkerExtension:
    """Added to vLLM's worker; the import of its module registers the transfer."""


def _die_with_parent() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.environ.get(OWNER) not in (None, *map(str, _ancestors())):  # it died before the line above
        os.kill(os.getpid(), signal.SIGKILL)


def _ancestors() -> Iterator[int]:
    pid = os.getpid()
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        yield pid


WeightTransferEngineFactory.register_engine(BACKEND, FileWeightTransfer)
