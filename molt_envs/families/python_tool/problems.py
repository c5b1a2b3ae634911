"""Problems by name: a split and an index in, a question with its files and the way to solve it out.

Templates draw numbers; which split an instance belongs to follows from a hash of it, so that none is in two.
"""

import csv
import hashlib
import inspect
import io
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from molt_envs.families.python_tool.solutions import Rows
from molt_envs.families.python_tool.templates import HELD_OUT, TRAINED, Drawing

SPLITS = {"train": 4000, "validation": 400, "test": 400}
VALIDATION_SHARE = 0.2
LARGEST_GUESS = 2
"""No answer is 0, 1 or 2, which could be guessed."""
MODULES = ("datetime", "fractions", "itertools", "math", "statistics")


@dataclass(frozen=True)
class Problem:
    """One problem."""

    kind: str
    """Name of its template."""
    question: str
    """What the agent is told."""
    tables: Mapping[str, str]
    """CSV files by name."""
    answer: int | float
    """The answer, computed here and never shown."""
    program: str
    """Source of the function that solves it, with its imports."""
    call: str
    """The call of that function, on the files of the work folder."""

    def accepts(self, value: float) -> bool:
        """Whether a value answers it: a whole number exactly, another within a ten-thousandth of it."""
        if isinstance(self.answer, int):
            return value == self.answer
        return abs(value - self.answer) <= 1e-4 * abs(self.answer)


def problem(split: str, index: int) -> Problem:
    """The problem; the same in every process."""
    rng = random.Random(f"{split}:{index}")
    templates = HELD_OUT if split == "test" else TRAINED
    template = templates[index % len(templates)]
    while True:
        drawing = template(rng)
        if _split_of(drawing, split) != split:
            continue
        solve, names = drawing.solve, list(drawing.tables)
        answer = solve(*map(read_table, drawing.tables.values()), *drawing.arguments)
        if abs(answer) > LARGEST_GUESS:
            break
    phrasing = rng.choice(_phrasings()[solve.__name__])
    question = phrasing.format(*drawing.arguments, *names, **drawing.words)
    for name, text in drawing.tables.items():
        question += f"\n\n{name}, in the work folder, begins:\n" + "\n".join(text.splitlines()[:4])
    reads = [f"list(csv.DictReader(open({name!r})))" for name in names]
    return Problem(
        solve.__name__,
        question,
        drawing.tables,
        answer,
        program(solve, bool(names)),
        f"{solve.__name__}({', '.join([*reads, *map(repr, drawing.arguments)])})",
    )


def read_table(text: str) -> Rows:
    """The rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(text)))


def program(solve: Callable[..., Any], has_tables: bool) -> str:
    """The source of a function, after the imports that it and its call need."""
    source = inspect.getsource(solve).replace("Rows", "list[dict[str, str]]")
    modules = {name for name in MODULES if re.search(rf"\b{name}\.\w", source)}
    modules |= {"csv"} if has_tables else set()
    return f"import {', '.join(sorted(modules))}\n\n\n{source}" if modules else source


def _split_of(drawing: Drawing, asked: str) -> str:
    if asked == "test":
        return asked
    key = repr((drawing.solve.__name__, drawing.arguments, drawing.tables))
    part = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") / 2**32
    return "validation" if part < VALIDATION_SHARE else "train"


@cache
def _phrasings() -> dict[str, list[str]]:
    return json.loads(Path(__file__).with_name("data").joinpath("phrasings.json").read_text("utf-8"))
