"""JSON lines whose bytes depend on the values alone.

In: rows of strings and numbers. Out: files with one sorted JSON object per line, appended whole.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Scalar = float | int | str | bool

_NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def append_row(path: Path, row: Mapping[str, Scalar]) -> None:
    """Append one row in a single write, so that a reader never sees half a line.

    Numbers that are not finite become the strings `nan`, `inf`, `-inf`: JSON has none.
    """
    plain = {key: _plain(value) for key, value in row.items()}
    line = (json.dumps(plain, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n").encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        written = os.write(descriptor, line)
        if written != len(line):
            raise OSError(f"{path}: {written} of {len(line)} bytes written; is the disk full?")
    finally:
        os.close(descriptor)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """All whole rows in order; a last line without its end, as a killed process leaves it, is ignored.

    Raises:
        ValueError: a line in the middle is not a JSON object; the message names file and line.
    """
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    return [_parse(path, number, line) for number, line in enumerate(lines[:-1], start=1)]


def keep_until(path: Path, last_step: int) -> None:
    """Drop the rows after `last_step` and a broken last line; what stays keeps its bytes."""
    if not path.exists():
        return
    lines = path.read_bytes().split(b"\n")
    kept = [line for n, line in enumerate(lines[:-1], 1) if _parse(path, n, line)["step"] <= last_step]
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(b"".join(line + b"\n" for line in kept))
    os.replace(temporary, path)


def _plain(value: Scalar) -> Scalar:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    return value


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{path}, line {number} is not JSON ({error}); delete the line") from error
    if not isinstance(row, dict):
        raise ValueError(f"{path}, line {number} is not an object; delete the line")
    return {
        key: _NON_FINITE.get(value, value) if isinstance(value, str) else value for key, value in row.items()
    }
