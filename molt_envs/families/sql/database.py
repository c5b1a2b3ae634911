"""Databases by seed: the name of a schema and a random generator in, a script that makes one out.

All schemas have one shape (groups of items, persons, and events that join them) under different names.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

FIRST_NAMES = ("Ana", "Boris", "Carla", "Deniz", "Elio", "Fatou", "Greta", "Hugo", "Ines", "Jonas", "Kaya")
LAST_NAMES = ("Adler", "Bosch", "Costa", "Dubois", "Egger", "Faber", "Gomez", "Haas", "Ivanov", "Jansen")
CITIES = ("Basel", "Bergen", "Bilbao", "Brno", "Gent", "Graz", "Leeds", "Lyon", "Porto", "Turin")
YEARS = (2021, 2022, 2023)
NUM_CITIES = 6


@dataclass(frozen=True)
class Database:
    """One database, as far as questions need to know it."""

    script: str
    """SQL that makes it."""
    cities: Sequence[str]
    """Where persons live."""
    groups: Sequence[str]
    """Names of the groups."""


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """The names and words of each schema, by its name."""
    path = Path(__file__).with_name("data") / "schemas.json"
    return json.loads(path.read_text("utf-8"))


def tables(schema: str) -> str:
    """The statements that create the tables."""
    return (
        "CREATE TABLE {G} (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
        "CREATE TABLE {I} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, {group_id} INTEGER NOT NULL "
        "REFERENCES {G}(id), {measure} INTEGER NOT NULL);\n"
        "CREATE TABLE {P} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, "
        "{since} TEXT NOT NULL);\n"
        "CREATE TABLE {E} (id INTEGER PRIMARY KEY, {person_id} INTEGER NOT NULL REFERENCES {P}(id), "
        "{item_id} INTEGER NOT NULL REFERENCES {I}(id), {day} TEXT NOT NULL, {amount} INTEGER, "
        "{state} TEXT NOT NULL);"
    ).format(**schemas()[schema])


def database(schema: str, rng: random.Random, like: Database | None = None) -> Database:
    """A database of that schema; with `like`, another one in which the same cities and groups occur."""
    words = schemas()[schema]
    cities = like.cities if like else rng.sample(CITIES, NUM_CITIES)
    groups = like.groups if like else rng.sample(words["group_names"], rng.randint(4, 6))
    names = [f"{first} {second}" for first, second in product(words["first"], words["second"])]
    items = [
        (name, rng.randint(1, len(groups)), rng.randint(*words["measures"]))
        for name in rng.sample(names, rng.randint(16, 28))
    ]
    people = [f"{first} {last}" for first, last in product(FIRST_NAMES, LAST_NAMES)]
    persons = [
        (name, rng.choice(cities), _day(rng, 2017, 2020)) for name in rng.sample(people, rng.randint(24, 40))
    ]
    # Some persons and items take part often, and some never.
    active = [index for index in range(1, len(persons) + 1) for _ in range(rng.choice((0, 1, 2, 5)))]
    used = [index for index in range(1, len(items) + 1) for _ in range(rng.choice((0, 1, 2, 4)))]
    events = [
        (
            rng.choice(active or [1]),
            rng.choice(used or [1]),
            _day(rng, YEARS[0], YEARS[-1]),
            rng.randint(*words["amounts"]) if rng.random() < 0.95 else None,
            rng.choice(words["states"]),
        )
        for _ in range(rng.randint(120, 240))
    ]
    contents = (("G", [(name,) for name in groups]), ("I", items), ("P", persons), ("E", events))
    inserts = [_insert(words[role], rows) for role, rows in contents]
    return Database("\n".join([tables(schema), *inserts]), cities, groups)


def _insert(table: str, rows: Sequence[tuple[object, ...]]) -> str:
    lines = [f"({', '.join([str(number), *map(_literal, row)])})" for number, row in enumerate(rows, start=1)]
    return f"INSERT INTO {table} VALUES\n" + ",\n".join(lines) + ";"


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else f"'{value}'"


def _day(rng: random.Random, first: int, last: int) -> str:
    start = date(first, 1, 1)
    return str(start + timedelta(days=rng.randrange((date(last + 1, 1, 1) - start).days)))
