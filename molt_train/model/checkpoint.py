"""Checkpoints that are either whole or absent.

In: a step and nested state (tensors, arrays, plain values). Out: `step-00000010/` with `tensors.safetensors`,
`state.json` and a manifest of their hashes; and the newest intact one back.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from molt_train.model.state_codec import StateEncoder, decode

FORMAT = 2
"""2: the optimizer's entries are found by the names of their parameters."""
_TENSORS, _STATE, _MANIFEST = "tensors.safetensors", "state.json", "manifest.json"
_PREFIX, _TEMPORARY = "step-", ".unfinished-"


class CheckpointError(ValueError):
    """A checkpoint is damaged or of another format; the message names the file."""


class CheckpointWarning(UserWarning):
    """A damaged checkpoint was passed over for an older one."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that has been read."""

    step: int
    """Training steps done when it was written."""
    state: dict[str, Any]
    """What `save_checkpoint` was given; tensors are on the CPU."""
    path: Path
    """Its folder."""


def save_checkpoint(folder: Path, step: int, state: Mapping[str, Any], keep_last: int = 2) -> Path:
    """Write one checkpoint and delete those before the last `keep_last`.

    A crash at any moment leaves the earlier checkpoints as they are, and at most an unfinished folder that
    the next save removes. Returns the checkpoint's folder.
    """
    assert step >= 0 and keep_last >= 1
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(_TEMPORARY + "*"):
        shutil.rmtree(leftover)
    temporary = folder / f"{_TEMPORARY}{step}-{os.getpid()}"
    temporary.mkdir()
    encoder = StateEncoder()
    plain = encoder.encode(dict(state))
    save_file(encoder.tensors, temporary / _TENSORS)
    (temporary / _STATE).write_text(json.dumps(plain, allow_nan=False), encoding="utf-8")
    files = {name: _fingerprint(temporary / name) for name in (_TENSORS, _STATE)}
    manifest = {"format": FORMAT, "step": step, "files": files}
    (temporary / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    for path in (*temporary.iterdir(), temporary):
        _flush(path)
    target = folder / f"{_PREFIX}{step:08d}"
    if target.exists():
        os.replace(target, folder / f"{_TEMPORARY}replaced-{step}-{os.getpid()}")
    os.replace(temporary, target)
    _flush(folder)
    for old in _find(folder)[:-keep_last]:
        shutil.rmtree(old)
    for leftover in folder.glob(_TEMPORARY + "*"):
        shutil.rmtree(leftover)
    return target


def load_latest(folder: Path) -> Checkpoint | None:
    """The newest intact checkpoint; None where there is none at all.

    A damaged one is passed over with a `CheckpointWarning`.

    Raises:
        CheckpointError: there are checkpoints, and every one is damaged.
    """
    paths = _find(folder)
    problems: list[str] = []
    for path in reversed(paths):
        try:
            return load_checkpoint(path)
        except CheckpointError as error:
            problems.append(str(error))
            warnings.warn(f"{error}; taking the one before it", CheckpointWarning, stacklevel=2)
    if problems:
        raise CheckpointError(f"no checkpoint in {folder} is intact: " + "; ".join(problems))
    return None


def load_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint after comparing its files with the manifest. Raises `CheckpointError`."""
    try:
        manifest = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise CheckpointError(f"{path} has format {manifest['format']}; this version reads {FORMAT}")
        for name in (_TENSORS, _STATE):
            if _fingerprint(path / name) != manifest["files"][name]:
                raise CheckpointError(f"{path / name} is damaged: its size or hash is not the manifest's")
        tensors = load_file(path / _TENSORS)
        state = decode(json.loads((path / _STATE).read_text(encoding="utf-8")), tensors)
        return Checkpoint(int(manifest["step"]), state, path)
    except CheckpointError:
        raise
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CheckpointError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _find(folder: Path) -> list[Path]:
    """Finished checkpoints, oldest first."""
    found = [path for path in folder.glob(_PREFIX + "*") if path.name.removeprefix(_PREFIX).isdigit()]
    return sorted(found, key=lambda path: int(path.name.removeprefix(_PREFIX)))


def _fingerprint(path: Path) -> dict[str, int | str]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256": digest, "num_bytes": path.stat().st_size}


def _flush(path: Path) -> None:
    """Force a file's content, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
