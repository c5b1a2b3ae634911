"""A household game as data: receptacles, things, where everything starts, and the goal.

In: what a generator or a game file says. Out: an immutable `World` that any number of games can share.
Both tuples stand in the order in which the game lists their members.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
STATES = ("clean", "hot", "cool", "toggled", "sliced")


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A place that holds things and never moves."""

    name: str
    """Type and number, as in `fridge 1`."""
    kind: str
    """The type alone."""
    place: int
    """Where the agent stands at it; receptacles may share a place."""
    openable: bool
    """Whether it must be open to see and reach what is in it."""
    holds: frozenset[str]
    """Types of things that may be put there."""


@dataclass(frozen=True, slots=True)
class Thing:
    """An object that is in a receptacle or in the hand."""

    name: str
    """Type and number, as in `egg 2`."""
    kind: str
    """The type alone."""
    abilities: frozenset[str]
    """Of `pickupable`, `cleanable`, `heatable`, `coolable`, `toggleable`, `sliceable`, `container`."""
    states: frozenset[str] = frozenset()
    """Those of `STATES` it has when the game starts."""
    contents: tuple[int, ...] = ()
    """Things in a `container`; nothing can be put there or taken out."""


@dataclass(frozen=True, slots=True)
class Goal:
    """When a game is won."""

    thing: str
    """Type of the thing."""
    receptacle: str = ""
    """Type of the receptacle it belongs in; empty where it is to be looked at."""
    state: str | None = None
    """`clean`, `hot` or `cool`, where the thing has to be."""
    num_things: int = 1
    """Number of such things in one receptacle."""
    lamp: str = ""
    """Type of the lamp under which the thing is to be held."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything about a game but how it goes."""

    task_type: str
    """One of `TASK_TYPES`."""
    task: str
    """The goal in words."""
    goal: Goal
    """The goal."""
    receptacles: tuple[Receptacle, ...]
    """In the order of listing."""
    things: tuple[Thing, ...]
    """In the order of listing."""
    inside: tuple[tuple[int, ...], ...]
    """For each receptacle, the things in it, ascending."""
    places: tuple[frozenset[int], ...]
    """For each thing, where it lies at the start, whatever hides it."""
    opened: frozenset[int] = frozenset()
    """Receptacles that are open at the start."""
    start: int = -1
    """The agent's place; -1 where no receptacle is."""
    held: int | None = None
    """The thing in the agent's hand."""
    at_place: dict[int, tuple[int, ...]] = field(init=False)
    """Receptacles of each place, ascending."""

    def __post_init__(self) -> None:
        at_place: dict[int, tuple[int, ...]] = {}
        for number, receptacle in enumerate(self.receptacles):
            at_place[receptacle.place] = (*at_place.get(receptacle.place, ()), number)
        object.__setattr__(self, "at_place", at_place)
