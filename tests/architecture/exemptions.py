"""Named exceptions to the rules, each with its reason. An entry that nothing needs fails a test."""

from __future__ import annotations

LONG_FUNCTIONS: dict[str, str] = {}
"""`path:qualified.name` of a function over the limit -> why it is one piece."""

BROAD_EXCEPTS: dict[str, str] = {
    "molt_envs/errors.py:boundary": "the episode's boundary itself: whatever escapes becomes an outcome",
    "molt_envs/families/code_repair/project_program.py:run_tests": "whatever a test raises fails it",
    "molt_envs/families/code_repair/project_program.py:outcome": "the error is what is compared",
    "molt_envs/families/code_repair/build.py:_passes": "whatever a test raises fails it",
}
"""`path:qualified.name` of a function with `except Exception` -> why it is a boundary."""
