"""The list of skips that CI accepts: a text file in, patterns with their reasons out."""

from __future__ import annotations

import functools
from fnmatch import fnmatchcase
from pathlib import Path


@functools.cache
def read_allowed_skips(path: Path) -> dict[str, str]:
    """Patterns over test ids, each with its reason; a line without a reason is a ValueError."""
    allowed: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, reason = line.partition("  #")
        if not reason.strip():
            raise ValueError(
                f"{path.name}:{number}: no reason: write `{pattern.strip()}  # why it may be skipped`"
            )
        allowed[pattern.strip()] = reason.strip()
    return allowed


def is_allowed(nodeid: str, allowed: dict[str, str]) -> bool:
    """Whether a test id matches one of the patterns. Brackets are literal: parametrised ids hold them."""
    return any(fnmatchcase(nodeid, pattern.replace("[", "[[]")) for pattern in allowed)
