"""Problems by name: a split and an index in; a question, two databases and the right results out.

A question belongs to train or validation by a hash of its text, whatever the database; test has templates
of its own.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path

from molt_envs.families.sql.database import YEARS, Database, database, schemas
from molt_envs.families.sql.query_program import Row, digest, open_script, run

SPLITS = {"train": 4000, "validation": 400, "test": 600}
VALIDATION_SHARE = 0.2
MAX_ROWS = 40
"""Longer results are not asked for."""


@dataclass(frozen=True)
class Template:
    """One form of question; `{I}` and the like are words of the schema, `{year}` and the like are drawn."""

    questions: Sequence[str]
    """Ways to ask it; each says which columns are wanted."""
    query: str
    """The query that answers it."""
    is_ordered: bool
    """Whether the question asks for an order."""


@dataclass(frozen=True)
class Problem:
    """One problem."""

    kind: str
    """Name of its template."""
    schema: str
    """Name of its schema."""
    question: str
    """What the agent is told, besides the tables."""
    is_ordered: bool
    """Whether the rows must come in the right order."""
    query: str
    """A query that answers it, never shown."""
    given: str
    """SQL that makes the database that the agent sees."""
    hidden: str
    """SQL that makes another one, on which the answer must be right as well."""
    digests: tuple[str, str]
    """Of the right results on both."""


@cache
def templates(split: str) -> dict[str, Template]:
    """The templates of a split by name; those of test occur nowhere else."""
    path = Path(__file__).with_name("data") / "templates.json"
    listed = json.loads(path.read_text("utf-8"))["held_out" if split == "test" else "trained"]
    return {name: Template(**fields) for name, fields in listed.items()}


def problem(split: str, index: int) -> Problem:
    """The problem; the same in every process."""
    rng = random.Random(f"{split}:{index}")
    kind = [*templates(split)][index % len(templates(split))]
    template = templates(split)[kind]
    while True:
        schema = rng.choice([*schemas()])
        given = database(schema, rng)
        hidden = database(schema, rng, like=given)
        question, query = _fill(template, schema, given, rng)
        if split_of(question, split) != split:
            continue
        results = [_result(script, query) for script in (given.script, hidden.script)]
        if _tells(results):
            is_ordered = template.is_ordered
            first, second = (digest([*rows], is_ordered) for rows in results)
            scripts = given.script, hidden.script
            return Problem(kind, schema, question, is_ordered, query, *scripts, (first, second))


def split_of(question: str, split: str) -> str:
    """The split that a question of train or validation belongs to; those of test are told by template."""
    if split == "test":
        return split
    number = int.from_bytes(hashlib.sha256(question.encode()).digest()[:4], "big")
    return "validation" if number < VALIDATION_SHARE * 2**32 else "train"


def _fill(template: Template, schema: str, given: Database, rng: random.Random) -> tuple[str, str]:
    words = schemas()[schema]
    low, high = words["measures"]
    group, other = rng.sample([*given.groups], 2)
    third = (high - low) // 3
    drawn = {
        "year": rng.choice(YEARS),
        "city": rng.choice(given.cities),
        "state_value": rng.choice(words["states"]),
        "group_name": group,
        "other_group": other,
        "k": rng.randint(3, 6),
        "date": date(YEARS[1], 6, 1) + timedelta(days=rng.randrange(500)),
        "low": low + rng.randint(third // 2, third),
        "high": high - rng.randint(third // 2, third),
    }
    # The words come first: they are names in the text of queries and questions alike.
    names = words | drawn
    return rng.choice(template.questions).format(**names), template.query.format(**names)


def _result(script: str, query: str) -> Sequence[Row]:
    connection = open_script(script)
    try:
        return run(connection, query)[1]
    finally:
        connection.close()


def _tells(results: Sequence[Sequence[Row]]) -> bool:
    """Whether the results differ, and neither is empty, long, or one small number that could be guessed."""
    given, hidden = results
    return (
        all(0 < len(rows) <= MAX_ROWS for rows in results)
        and digest([*given], False) != digest([*hidden], False)
        and not any(len(rows) == 1 and rows[0] in [(0,), (1,), (None,)] for rows in results)
    )
