"""The library of small modules: a name in; its code, tests, hidden calls and possible bugs out.

A module is a text file in three parts. `bugs.json` and `outcomes.json` are made by `build.py`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_TRAIN = (
    "calculator ciphers graphs intervals ledger matrix pages roman rooms slugs statistics_of stock versions"
)
MODULES: Mapping[str, Sequence[str]] = {
    "train": _TRAIN.split(),
    "validation": ["durations", "patterns"],
    "test": ["boards", "polynomials", "run_lengths", "tables"],
}
"""No module is in two splits."""
DATA = Path(__file__).with_name("data")


@dataclass(frozen=True)
class Module:
    """One module of the library, as it should be."""

    name: str
    """Name of the module."""
    code: str
    """Its source."""
    tests: str
    """Source of the tests that the agent sees, without imports."""
    calls: Sequence[str]
    """Expressions of the hidden tests."""

    @property
    def public(self) -> list[str]:
        """Names of its functions for others."""
        return re.findall(r"^def ([a-z]\w*)", self.code, re.MULTILINE)


@dataclass(frozen=True)
class Bug:
    """One line that is wrong."""

    line: int
    """Which line of the code, from 0."""
    text: str
    """What stands there instead."""


@cache
def module(name: str) -> Module:
    """A module by name."""
    text = (DATA / "library" / f"{name}.txt").read_text("utf-8")
    code, tests, calls = re.split(r"^=== \w+\n", text, flags=re.MULTILINE)
    return Module(name, code, tests, calls.splitlines())


@cache
def bugs(name: str) -> tuple[Bug, ...]:
    """Bugs that a shown test and hidden calls find."""
    return tuple(Bug(line, text) for line, text in _read("bugs.json")[name])


def outcomes(name: str) -> Sequence[str]:
    """What the hidden calls give on the module as it should be."""
    return _read("outcomes.json")[name]


def broken(code: str, bug: Bug) -> str:
    """The code with the bug."""
    lines = code.splitlines(keepends=True)
    lines[bug.line] = bug.text + "\n"
    return "".join(lines)


@cache
def _read(name: str) -> dict[str, Any]:
    return json.loads((DATA / name).read_text("utf-8"))
