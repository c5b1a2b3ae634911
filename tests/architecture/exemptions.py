"""Named exceptions to the rules, each with its reason. An entry that nothing needs fails a test."""

from __future__ import annotations

LONG_FUNCTIONS: dict[str, str] = {}
"""`path:qualified.name` of a function over the limit -> why it is one piece."""

BROAD_EXCEPTS: dict[str, str] = {
    "molt_envs/errors.py:boundary": "the episode's boundary itself: whatever escapes becomes an outcome",
}
"""`path:qualified.name` of a function with `except Exception` -> why it is a boundary."""
