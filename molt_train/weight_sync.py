"""Weights on their way from the learner to engines on this node: a safetensors file in shared memory.

In: a model and its version. Out: a file under the names that `save_pretrained` writes, and what a reader
checks.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import torch
from safetensors.torch import load_file

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_SHARED_MEMORY = Path("/dev/shm")
_PREFIX = "molt-weights-"
_FILE = "model.safetensors"


class WeightMismatch(ValueError):
    """Weights that are missing, unexpected, or of another shape or type."""


@dataclass(frozen=True)
class PublishedWeights:
    """One version of the policy, ready to be read."""

    version: int
    """Updates of the learner that made it."""
    path: Path
    """The safetensors file; it stays until the version after the next is published."""
    shapes: Mapping[str, tuple[int, ...]]
    """Of each tensor in the file, by name."""


class WeightPublisher:
    """Writes versions into a private folder, which vanishes with it; use it in a `with` block."""

    def __init__(self) -> None:
        parent = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else Path(tempfile.gettempdir())
        _sweep(parent)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
        self._published: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def publish(self, model: PreTrainedModel, version: int) -> PublishedWeights:
        """Write the weights as they are now; blocking. The file before the last is deleted."""
        folder = self.folder / f"{version:08d}"
        temporary = self.folder / f"{version:08d}.part"
        model.save_pretrained(temporary, max_shard_size="1000GB")
        if folder.exists():
            shutil.rmtree(folder)
            self._published.remove(folder)
        os.replace(temporary, folder)
        self._published.append(folder)
        while len(self._published) > 2:
            shutil.rmtree(self._published.pop(0), ignore_errors=True)
        path = folder / _FILE
        shapes = {name: tuple(tensor.shape) for name, tensor in load_file(path).items()}
        return PublishedWeights(version, path, shapes)

    def close(self) -> None:
        """Remove everything; idempotent."""
        shutil.rmtree(self.folder, ignore_errors=True)


def read_weights(weights: PublishedWeights) -> dict[str, torch.Tensor]:
    """The tensors by name, mapped from the file.

    Raises:
        WeightMismatch: the file does not hold what was published.
    """
    tensors = load_file(weights.path)
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if found != dict(weights.shapes):
        differ = sorted(
            name
            for name in found.keys() | weights.shapes.keys()
            if found.get(name) != weights.shapes.get(name)
        )
        raise WeightMismatch(f"{weights.path} does not hold version {weights.version}: {differ[:3]} differ")
    return tensors


def _sweep(parent: Path) -> None:
    """Remove folders whose process was killed."""
    for folder in parent.glob(_PREFIX + "*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)
