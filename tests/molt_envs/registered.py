"""All registered ids as test parameters: a bridge is skipped where its library is missing.

In: nothing. Out: pytest parameters; an environment that is slow to reset is marked `real`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from molt_envs import entries
from tests.molt_envs.toy import register_toy

LIBRARIES = {
    "molt/ReasoningGym-v0": "reasoning_gym",
    "molt/TextArena-v0": "textarena",
    "molt/TextWorld-v0": "textworld",
}
# A new game is compiled for some seconds; a sandbox is opened, and needs a machine that holds one.
SLOW = {
    "molt/CodeRepair-v0": 900,
    "molt/Geometry-v0": 900,
    "molt/PythonTool-v0": 900,
    "molt/SQL-v0": 900,
    "molt/Shell-v0": 900,
    "molt/TextWorld-v0": 900,
}


def env_ids() -> list[Any]:
    """One parameter for each id, the toy included."""
    return [_parameter(env_id) for env_id in [*(entry.env_id for entry in entries()), register_toy()]]


def _parameter(env_id: str) -> Any:
    marks: list[Any] = []
    if env_id in LIBRARIES:
        missing = find_spec(LIBRARIES[env_id]) is None
        marks.append(pytest.mark.skipif(missing, reason=f"needs the library {LIBRARIES[env_id]}"))
    if env_id in SLOW:
        marks += [pytest.mark.real, pytest.mark.timeout(SLOW[env_id])]
    return pytest.param(env_id, marks=marks)
