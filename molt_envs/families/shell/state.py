"""The files of a task: at the start, as wanted and as found at the end, and what is different between them.

In: states. Out: changes. The state at the end is read by our own program in a fresh process, when the agent's
have been ended; what was wanted is never in the sandbox.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from molt_envs.tools.sandboxed import StartFile, Workspace

PROGRAM = Path(__file__).with_name("snapshot_program.py")


@dataclass(frozen=True)
class Entry:
    """What is at a path."""

    kind: str
    """`file`, `link`, `archive`, or what no task asks for."""
    mode: int
    """Permission bits."""
    content: str
    """Of a file its text, of a link where it leads to, of an archive its files as JSON."""


State: TypeAlias = Mapping[str, Entry]
Change: TypeAlias = tuple[str, Entry | None]


def text_file(text: str, mode: int = 0o644) -> Entry:
    """A file of text."""
    return Entry("file", mode, text)


def changes(start: State, end: State) -> frozenset[Change]:
    """What was done: paths with what is there now, or None.

    At a path that is new, the permissions and the white space at the end are not looked at.
    """
    found: set[Change] = {(path, None) for path in start if path not in end}
    for path, entry in end.items():
        if path not in start:
            found.add((path, Entry(entry.kind, 0, entry.content.rstrip())))
        elif entry != start[path]:
            found.add((path, entry))
    return frozenset(found)


def start_files(state: State) -> dict[str, StartFile]:
    """The files to begin with."""
    return {path: StartFile(entry.content.encode(), entry.mode) for path, entry in state.items()}


def read_state(workspace: Workspace) -> State | None:
    """All that is in the work folder now; None when it is too much to be any task's."""
    found = json.loads(workspace.run_trusted(PROGRAM.read_text("utf-8")))
    return None if found is None else {path: Entry(*entry) for path, entry in found.items()}
