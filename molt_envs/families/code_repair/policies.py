"""Policies: one that knows the bug, and two without skill.

In: the task, or what the environment shows. Out: actions.
"""

import random
import re
from collections.abc import Mapping
from typing import Any

from molt_envs.families.code_repair.tasks import Repair
from molt_envs.policy import FixedScript
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import write_calls

SWAPS = (
    (" <= ", " < "),
    (" < ", " <= "),
    (" >= ", " > "),
    (" > ", " >= "),
    (" - 1", " + 1"),
    (" + 1", " - 1"),
    (" != ", " == "),
    (" == ", " != "),
)


def solver(task: Repair, seed: str, noise: float) -> FixedScript:
    """Looks around, mends the line, tests and submits; `noise`: how often a step goes wrong first."""
    rng = random.Random(seed)
    path = task.broken_path
    old, new = edit(task)
    actions: list[str] = []
    for step in (
        call("list_files"),
        call("run_tests"),
        call("read_file", path=f"tests/test_{task.broken.name}.py"),
        call("read_file", path=path),
        call("edit_file", path=path, old=old, new=new),
        call("run_tests"),
        call("submit"),
    ):
        if rng.random() < noise:
            slips = call("read_file", path=path[:-1]), call("edit_file", path=path, old=old + "?", new=new)
            actions.append(rng.choice([*slips, call("run_test"), "[]"]))
        actions.append(step)
    return FixedScript(actions)


def edit(task: Repair) -> tuple[str, str]:
    """The text to replace, which occurs once in the broken file, and what belongs there."""
    right = task.broken.code.splitlines()
    wrong = task.files[task.broken_path].splitlines()
    start, end = task.bug.line, task.bug.line + 1
    while task.files[task.broken_path].count("\n".join(wrong[start:end])) > 1:
        start, end = max(0, start - 1), end + 1
    return "\n".join(wrong[start:end]), "\n".join(right[start:end])


class FirstSwap:
    """Turns around the first comparison or sum of the file whose test fails, whatever it is."""

    def __init__(self) -> None:
        self._path = ""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        match info["turn"]:
            case 0:
                self._package = (re.search(r"fault in (\w+)", observation) or ["", "a"])[1]
                return call("run_tests")
            case 1:
                failed = re.search(r"FAILED tests/test_(\w+)\.py", observation)
                self._path = f"{self._package}/{failed[1] if failed else 'a'}.py"
                return call("read_file", path=self._path)
            case 2:
                found = [(observation.find(old), old, new) for old, new in SWAPS if old in observation]
                if not found:
                    return call("submit")
                place, old, new = min(found)
                text = observation[:place] + new + observation[place + len(old) :]
                return call("write_file", path=self._path, text=text)
            case _:
                return call("submit")


def random_edit(task: Repair, seed: int) -> FixedScript:
    """Leaves a line out of a file, and submits."""
    rng = random.Random(seed)
    path = rng.choice(task.sources)
    lines = task.files[path].splitlines(keepends=True)
    lines.pop(rng.randrange(len(lines)))
    return FixedScript([call("write_file", path=path, text="".join(lines)), call("submit")])


def call(tool: str, **arguments: str) -> str:
    """The action that calls one tool."""
    return write_calls(ToolCall(tool, arguments))
