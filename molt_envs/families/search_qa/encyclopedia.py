"""An invented encyclopedia: people, cities, countries, companies, works and universities.

In: lists of names and sentences (`data/`). Out: the same entities, facts and documents in every process.
A fact links only entities of one split, so that no chain of facts leaves it; the documents are one corpus.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from molt_envs.tools.text_search import TextSearch

SEED = 20
SIZES = {"person": 420, "city": 64, "country": 16, "company": 90, "work": 180, "university": 30}
"""Entities of the train split by kind; each other split has a quarter as many."""
SPLITS = {"train": 4, "validation": 1, "test": 1}
"""Shares of the entities."""


@dataclass
class Entity:
    """Something that has a document."""

    name: str
    """Unique; the document's title."""
    kind: str
    """Such as `person`."""
    split: str
    """The split whose questions may touch it."""
    facts: dict[str, str] = field(default_factory=dict[str, str])
    """Names of other entities, or values, by relation."""
    text: str = ""
    """The document."""


class Encyclopedia:
    """All entities by name, and a search over their documents."""

    def __init__(self) -> None:
        self._rng = random.Random(SEED)
        self.entities: dict[str, Entity] = {}
        self._groups: dict[tuple[str, str], list[Entity]] = {}
        names = {kind: self._names(kind) for kind in SIZES}
        for split, share in SPLITS.items():
            for kind, size in SIZES.items():
                for _ in range(size * share // SPLITS["train"]):
                    name = next(names[kind])
                    self.entities[name] = Entity(name, kind, split)
                    self._groups.setdefault((kind, split), []).append(self.entities[name])
        self._rivers = self._pairs("river")
        for entity in self.entities.values():
            entity.facts = {"name": entity.name} | self._facts(entity)
        for split in SPLITS:
            # a capital lies in its own country, and is that of no other
            for country, city in zip(self.of("country", split), self.of("city", split), strict=False):
                country.facts["capital"], city.facts["country"] = city.name, country.name
        self._only_works()
        for entity in self.entities.values():
            sentences = self._rng.choice(texts("language.json")["documents"][entity.kind])
            entity.text = sentences.format(**entity.facts)
        self.titles = list(self.entities)
        self._rng.shuffle(self.titles)
        self.search = TextSearch(f"{title}. {self.entities[title].text}" for title in self.titles)

    def of(self, kind: str, split: str) -> list[Entity]:
        """The entities of a kind and a split."""
        return self._groups[kind, split]

    def _facts(self, entity: Entity) -> dict[str, str]:
        """A fact for each relation, and the values that documents give."""
        rng, names = self._rng, texts("names.json")
        found: dict[str, str] = {}
        for relation, (kind, _) in texts("language.json")["relations"][entity.kind].items():
            others = rng.sample(self.of(kind, entity.split), 2)
            found[relation] = (others[1] if others[0] is entity else others[0]).name
        old, new = str(rng.randrange(1780, 1990)), str(rng.randrange(1996, 2025))
        values: dict[str, dict[str, str]] = {
            "person": {
                "birth_year": str(rng.randrange(1931, 1976)),
                "occupation": rng.choice(names["occupation"]),
            },
            "city": {"population": f"{rng.randrange(20_000, 3_000_000):,}"},
            "country": {"currency": rng.choice(names["currency"]), "provinces": str(rng.randrange(4, 60))},
            "company": {"founded": new, "product": rng.choice(names["product"])},
            "work": {"published": new, "form": rng.choice(names["work"])},
            "university": {"founded": old},
        }
        if entity.kind == "city":
            found |= {"river": next(self._rivers), "alias": f"Old {next(self._rivers)}"}
        if entity.kind == "company":
            found["alias"] = "".join(rng.sample("BCDFGHKLMNPRSTVZ", 4))
        return found | values[entity.kind]

    def _only_works(self) -> None:
        """Who has written exactly one work; the person's own document does not tell."""
        works: dict[str, list[str]] = {}
        for entity in self.entities.values():
            entity.facts.pop("only_work", None)
            if entity.kind == "work":
                works.setdefault(entity.facts["author"], []).append(entity.name)
        for author, titles in works.items():
            if len(titles) == 1:
                self.entities[author].facts["only_work"] = titles[0]

    def _names(self, kind: str) -> Iterator[str]:
        rng, names = self._rng, texts("names.json")
        if kind in ("city", "country"):
            return self._pairs(kind)
        if kind == "work":
            pairs = [f"The {one} {other}" for one in names["adjective"] for other in names["noun"]]
        elif kind == "person":
            pairs = [f"{first} {last}" for last in self._pairs("family") for first in names["first"]]
        else:
            pairs = [f"{last} {rng.choice(names[kind])}" for last in self._pairs("family")]
        rng.shuffle(pairs)
        return iter(pairs)

    def _pairs(self, kind: str) -> Iterator[str]:
        parts = texts("names.json")[kind]
        pairs = [head + tail for head in parts["head"] for tail in parts["tail"]]
        self._rng.shuffle(pairs)
        return iter(pairs)


@cache
def encyclopedia() -> Encyclopedia:
    """The one encyclopedia, made when it is first needed."""
    return Encyclopedia()


@cache
def texts(file: str) -> dict[str, Any]:
    """A file of `data/`."""
    return json.loads(Path(__file__).with_name("data").joinpath(file).read_text("utf-8"))
