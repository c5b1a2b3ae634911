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

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
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


class WeightFolder:
    """A private folder in shared memory with the last two versions; one whose process was killed goes with
    the next that is made."""

    def __init__(self) -> None:
        parent = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else Path(tempfile.gettempdir())
        _sweep(parent)
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
        self._versions: list[Path] = []

    def new(self, version: int) -> Path:
        """An empty folder for a version; the one before the last is deleted."""
        folder = self.path / f"{version:08d}"
        if folder in self._versions:
            self._versions.remove(folder)
            shutil.rmtree(folder)
        folder.mkdir()
        self._versions.append(folder)
        while len(self._versions) > 2:
            shutil.rmtree(self._versions.pop(0), ignore_errors=True)
        return folder

    def close(self) -> None:
        """Remove everything; idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)


class WeightPublisher:
    """Writes versions of a model for engines of this node; use it in a `with` block."""

    def __init__(self) -> None:
        self.folder = WeightFolder()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def publish(self, model: PreTrainedModel, version: int) -> PublishedWeights:
        """Write the weights as they are now; blocking. Processes that hold the model together call it on the
        first, and `take_part` on the others."""
        folder = self.folder.new(version)
        model.save_pretrained(folder, max_shard_size="1000GB")
        path = folder / _FILE
        with safe_open(path, framework="pt") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
        return PublishedWeights(version, path, shapes)

    def take_part(self, model: PreTrainedModel) -> None:
        """Give one's part of the weights to the process that publishes."""
        model.save_pretrained(self.folder.path, is_main_process=False)

    def close(self) -> None:
        """Remove everything; idempotent."""
        self.folder.close()


class WeightReceiver:
    """The same on an engine's node, for weights that come as bytes."""

    def __init__(self) -> None:
        self._folder = WeightFolder()

    def receive(
        self, version: int, shapes: Mapping[str, tuple[int, ...]], data: NDArray[np.uint8]
    ) -> PublishedWeights:
        """Write a published file's bytes; the file before the last is deleted."""
        path = self._folder.new(version) / _FILE
        data.tofile(path)
        return PublishedWeights(version, path, dict(shapes))

    def close(self) -> None:
        """Remove everything; idempotent."""
        self._folder.close()


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
