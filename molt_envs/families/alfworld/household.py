"""The household's own rooms and goals: the object table (`data/household.json`) in, splits of goals out.

A room is drawn by its number, so every process has the same ones; no two rooms of a kind are alike. A goal
belongs to one room and to one split, and the rooms of `validation` and `test` occur in no other split.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from molt_envs.families.alfworld.world import Receptacle

DATA = Path(__file__).parent / "data"
NUM_ROOMS = {"train": 20, "validation": 5, "test": 5}
"""Rooms of each kind."""
SEEN_SHARE = 8
"""One goal in so many of the rooms of `train` is in `seen`."""


@dataclass(frozen=True)
class TaskKind:
    """A type of task."""

    num_goals: int
    """Most goals of this type in one room."""
    rooms: list[str]
    """Kinds of room it is played in."""
    ability: str
    """What the thing must be able to."""
    appliance: str
    """Type of receptacle that the room must have; empty for none."""
    state: str | None
    """What the thing must be in the end."""
    words: list[str]
    """The task in words, with fields for the thing and the target."""


@dataclass(frozen=True)
class Kind:
    """A type of thing."""

    name: str
    """As the game writes it."""
    rooms: frozenset[str]
    """Kinds of room it is found in."""
    abilities: frozenset[str]
    """What can be done with it."""
    fits: frozenset[str]
    """Types of receptacle it may be put in."""


@dataclass(frozen=True)
class Room:
    """A room without what lies in it."""

    name: str
    """Kind and number."""
    kind: str
    """`kitchen`, `living`, `bedroom` or `bathroom`."""
    receptacles: tuple[Receptacle, ...]
    """In the order of listing, each at a place of its own."""

    def has(self, kind: str) -> bool:
        """Whether there is a receptacle of a type."""
        return any(receptacle.kind == kind for receptacle in self.receptacles)


@dataclass(frozen=True)
class RoomGoal:
    """What is to be done where."""

    room: Room
    """The room."""
    task_type: str
    """One of `TASK_TYPES`."""
    thing: str
    """Type of the thing."""
    target: str
    """Type of the receptacle, or of the lamp."""


@cache
def kinds() -> Mapping[str, Kind]:
    """Every type of thing by name."""
    return {
        name: Kind(name, *(frozenset(row[part]) for part in ("rooms", "abilities", "fits")))
        for name, row in _table()["things"].items()
    }


@cache
def task_kinds() -> Mapping[str, TaskKind]:
    """Every type of task by name."""
    return {name: TaskKind(**row) for name, row in _table()["tasks"].items()}


@cache
def goals() -> Mapping[str, tuple[RoomGoal, ...]]:
    """The goals of each split, in an order that mixes types and rooms."""
    found: dict[str, list[RoomGoal]] = {split: [] for split in ("train", "seen", "validation", "test")}
    for split, room in rooms():
        for task_type, task_kind in task_kinds().items():
            rng = random.Random(f"{room.name} {task_type}")
            drawn = list(_goals_of(room, task_type))
            drawn = rng.sample(drawn, min(task_kind.num_goals, len(drawn)))
            num_seen = len(drawn) // SEEN_SHARE if split == "train" else 0
            found["seen"] += drawn[:num_seen]
            found[split] += drawn[num_seen:]
    for split, of_split in found.items():
        random.Random(split).shuffle(of_split)
    return {split: tuple(of_split) for split, of_split in found.items()}


@cache
def rooms() -> tuple[tuple[str, Room], ...]:
    """Every room with its split (`train` for those of `seen`)."""
    made: list[tuple[str, Room]] = []
    for kind, ranges in _table()["rooms"].items():
        used: set[tuple[int, ...]] = set()
        for split, num_rooms in NUM_ROOMS.items():
            for _ in range(num_rooms):
                rng = random.Random(f"{kind} {len(used)}")
                counts = tuple(rng.randint(least, most) for least, most in ranges.values())
                while counts in used:
                    counts = tuple(rng.randint(least, most) for least, most in ranges.values())
                made.append((split, _room(kind, len(used), dict(zip(ranges, counts, strict=True)))))
                used.add(counts)
    return tuple(made)


def _room(kind: str, number: int, counts: Mapping[str, int]) -> Room:
    openable = _table()["openable"]
    names = [(name, count) for name in sorted(counts) for count in range(counts[name], 0, -1)]
    receptacles = tuple(
        Receptacle(
            f"{name} {count}",
            name,
            place,
            name in openable,
            frozenset(thing.name for thing in kinds().values() if name in thing.fits),
        )
        for place, (name, count) in enumerate(names)
    )
    return Room(f"{kind} {number}", kind, receptacles)


def _goals_of(room: Room, task_type: str) -> Iterator[RoomGoal]:
    """Every goal of a type that the room can have, the thing starting somewhere else."""
    wanted = task_kinds()[task_type]
    if room.kind not in wanted.rooms or (wanted.appliance and not room.has(wanted.appliance)):
        return
    for thing in kinds().values():
        homes = {receptacle.kind for receptacle in room.receptacles} & thing.fits
        if room.kind not in thing.rooms or wanted.ability not in thing.abilities:
            continue
        if task_type == "look_at_obj_in_light":
            for lamp in ("desklamp", "floorlamp"):
                if (
                    homes
                    and room.kind in kinds()[lamp].rooms
                    and any(map(room.has, sorted(kinds()[lamp].fits)))
                ):
                    yield RoomGoal(room, task_type, thing.name, lamp)
        elif len(homes) > 1:
            yield from (RoomGoal(room, task_type, thing.name, home) for home in sorted(homes))


@cache
def _table() -> Mapping[str, Any]:
    return json.loads((DATA / "household.json").read_text("utf-8"))
