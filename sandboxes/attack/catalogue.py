"""The attacks as data: in, the TOML files in `snippets/`; out, `Snippet`s."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

Ending = Literal["timeout", "memory", "killed", "cut"]
"""How a contained attack may end without a word: at a time-out, out of memory, by a signal, by its output."""


@dataclass(frozen=True)
class Snippet:
    """One attack: a Python program that runs inside, behind the prelude, with the host's facts in `HOST`."""

    name: str
    """Unique."""
    group: str
    """The kind of attack."""
    tries: str
    """What it is after, for people."""
    code: str
    """The program; calls `contained` or `escaped`, unless it ends as `endings` allow."""
    then: str = ""
    """A second program, run in the same sandbox afterwards."""
    elsewhere: str = ""
    """A second program, run in a fresh sandbox afterwards."""
    endings: tuple[Ending, ...] = ()
    """Endings without a verdict of its own that count as contained."""
    artifacts: tuple[str, ...] = ()
    """Paths that the host reads afterwards, as it collects results."""
    uploads: tuple[str, ...] = ()
    """Paths that the host writes afterwards."""
    harmless: bool = False
    """Does no damage even where nothing isolates it: for tests of the suite itself."""

    def __post_init__(self) -> None:
        unknown = set(self.endings) - set(get_args(Ending))
        if unknown or not (self.name and self.group and self.tries and self.code):
            raise ValueError(f"snippet {self.name!r}: an empty field, or unknown endings {sorted(unknown)}")


def load_snippets() -> tuple[Snippet, ...]:
    """All attacks, by file and place; ValueError for a name that comes twice."""
    snippets: list[Snippet] = []
    for path in sorted((Path(__file__).parent / "snippets").glob("*.toml")):
        for row in cast(list[dict[str, object]], tomllib.loads(path.read_text())["snippet"]):
            fields = {
                key: tuple(cast(list[str], value)) if isinstance(value, list) else value
                for key, value in row.items()
            }
            snippets.append(Snippet(**fields))  # type: ignore[reportArgumentType]
    names = [snippet.name for snippet in snippets]
    if len(set(names)) < len(names):
        raise ValueError(f"snippets named twice: {sorted({name for name in names if names.count(name) > 1})}")
    return tuple(snippets)
