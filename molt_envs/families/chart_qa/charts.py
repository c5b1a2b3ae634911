"""Charts by name: a split and an index in; numbers with their labels and a question about them out.

Labels say nothing about numbers: both are drawn on their own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from molt_envs.tools.questions import Priors, Question, split_of

SPLITS = {"train": 20_000, "validation": 1000, "test": 1000}
KINDS = ("bar", "line", "pie", "table")
TOPS = (20, 50, 100, 200, 500)
LABELS = (
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug"),
    ("apple", "cherry", "fig", "grape", "lemon", "melon", "plum", "pear"),
    ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"),
    ("bus", "tram", "train", "car", "bike", "ferry", "taxi", "foot"),
    ("chess", "choir", "dance", "drama", "judo", "rugby", "swim", "yoga"),
    ("Arden", "Brill", "Corby", "Dunmo", "Elsby", "Firth", "Gatly", "Holt"),
)
COLUMNS = (("2021", "2022", "2023"), ("spring", "summer", "autumn"), ("north", "south", "west"))
TITLES = ("Sales", "Visitors", "Members", "Tickets", "Orders", "Points", "Hours", "Letters")
READING, TWO_READINGS, SHARE = 0.03, 0.04, 3.0
"""Tolerances: shares of the axis for one and for two values read off it; percentage points of a pie."""
NUM_KNOWN = 2000


@dataclass(frozen=True)
class Chart:
    """One task."""

    kind: str
    """One of `KINDS`."""
    title: str
    """Stands above it."""
    labels: tuple[str, ...]
    """Of the bars, points, slices or rows."""
    columns: tuple[str, ...]
    """Names of a table's columns; one empty name elsewhere."""
    values: tuple[tuple[int, ...], ...]
    """A row of numbers for each label, one for each column; percentages in a pie."""
    top: int
    """The end of the axis."""
    question: Question
    """What is asked."""
    look: int
    """Seed of colours, lettering and layout."""

    @property
    def first(self) -> tuple[int, ...]:
        """The numbers of the first column."""
        return tuple(row[0] for row in self.values)


def chart(kinds: tuple[str, ...], split: str, index: int) -> Chart:
    """The task of that number; the same in every process."""
    rng = random.Random(f"{split}:{index}")
    while True:
        drawn = _draw(rng.choice(kinds), rng)
        parts = (drawn.kind, drawn.title, drawn.labels, drawn.values, drawn.question.text)
        if split_of(parts) == split:
            return drawn


@lru_cache(maxsize=16)
def priors(kinds: tuple[str, ...]) -> Priors:
    """What the training tasks tell of the answers."""
    return Priors([chart(kinds, "train", index).question for index in range(NUM_KNOWN)])


def _draw(kind: str, rng: random.Random) -> Chart:
    num = rng.randint(3, 5) if kind in ("pie", "table") else rng.randint(4, 6)
    pool = rng.choice(LABELS)
    first = rng.randrange(len(pool))
    labels = [pool[(first + place) % len(pool)] for place in range(num)]
    columns, top = ("",), rng.choice(TOPS)
    if pool != LABELS[0]:
        rng.shuffle(labels)
    if kind == "pie":
        values, top = [(share,) for share in _shares(num, rng)], 100
    else:
        if kind == "table":
            columns = rng.choice(COLUMNS)[: rng.randint(2, 3)]
        values = [tuple(rng.randint(max(1, top // 20), top) for _ in columns) for _ in labels]
    ask = {"pie": _of_pie, "table": _of_table}.get(kind, _of_axis)
    question = ask(labels, columns, values, top, rng)
    named = Question(question.text, question.answer, f"{kind} {question.kind}", question.tolerance)
    title = rng.choice(TITLES)
    look = rng.getrandbits(32)
    return Chart(kind, title, tuple(labels), columns, tuple(values), top, named, look)


Ask = Callable[[list[str], tuple[str, ...], list[tuple[int, ...]], int, random.Random], Question]


def _of_axis(
    labels: list[str], columns: tuple[str, ...], values: list[tuple[int, ...]], top: int, rng: random.Random
) -> Question:
    """About bars, or points of a line."""
    numbers = [row[0] for row in values]
    kind = rng.choice(("value", "difference", "sum", "largest", "smallest", "above"))
    one, two = rng.sample(range(len(labels)), 2)
    if kind == "above":
        line = top * rng.randint(1, 4) // 5
        if all(abs(number - line) > READING * top for number in numbers):
            count = sum(number > line for number in numbers)
            return Question(f"How many values are above {line}?", count, kind)
        kind = "value"
    if kind in ("largest", "smallest"):
        answer = max(numbers) if kind == "largest" else min(numbers)
        return Question(f"What is the {kind} value?", answer, kind, READING * top)
    a, b = labels[one], labels[two]
    if kind == "difference":
        text = f"How far apart are the values of {a} and {b}?"
        return Question(text, abs(numbers[one] - numbers[two]), kind, TWO_READINGS * top)
    if kind == "sum":
        text = f"What do {a} and {b} make together?"
        return Question(text, numbers[one] + numbers[two], kind, TWO_READINGS * top)
    return Question(f"What is the value of {a}?", numbers[one], kind, READING * top)


def _of_pie(
    labels: list[str], columns: tuple[str, ...], values: list[tuple[int, ...]], top: int, rng: random.Random
) -> Question:
    kind = rng.choice(("share", "both", "others"))
    one, two = rng.sample(range(len(labels)), 2)
    a, b = labels[one], labels[two]
    if kind == "share":
        return Question(f"How many percent are {a}?", values[one][0], kind, SHARE)
    if kind == "both":
        text = f"How many percent are {a} and {b} together?"
        return Question(text, values[one][0] + values[two][0], kind, SHARE)
    return Question(f"How many percent are not {a}?", 100 - values[one][0], kind, SHARE)


def _of_table(
    labels: list[str], columns: tuple[str, ...], values: list[tuple[int, ...]], top: int, rng: random.Random
) -> Question:
    kind = rng.choice(("cell", "difference", "column", "row", "largest"))
    one, two = rng.sample(range(len(labels)), 2)
    column = rng.randrange(len(columns))
    name, numbers = columns[column], [row[column] for row in values]
    if kind == "cell":
        return Question(f"What is the number of {labels[one]} in {name}?", numbers[one], kind)
    if kind == "difference":
        text = f"How far apart are {labels[one]} and {labels[two]} in {name}?"
        return Question(text, abs(numbers[one] - numbers[two]), kind)
    if kind == "column":
        return Question(f"What do all numbers of {name} make together?", sum(numbers), kind)
    if kind == "row":
        text = f"What do all numbers of {labels[one]} make together?"
        return Question(text, sum(values[one]), kind)
    return Question(f"What is the largest number of {name}?", max(numbers), kind)


def _shares(num: int, rng: random.Random) -> list[int]:
    """Whole percentages that make 100, none so small that it cannot be seen."""
    least = 6
    cuts = sorted(rng.sample(range(1, 100 - num * least), num - 1))
    ends = [0, *cuts, 100 - num * least]
    return [least + ends[place + 1] - ends[place] for place in range(num)]
