"""Planning problems (PDDL) as a `World`.

In: the text of a problem in ALFWorld's domain, and the goal in words. Out: a `World`, or a `DataError`
that says which part of the problem is wrong.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from molt_envs.errors import DataError
from molt_envs.families.alfworld.world import Goal, Receptacle, State, Thing, World

_TOKEN = re.compile(r";[^\n]*|[()]|[^\s();]+")
_ABILITIES = {
    "pickupable": "pickupable",
    "cleanable": "cleanable",
    "heatable": "heatable",
    "coolable": "coolable",
    "toggleable": "toggleable",
    "sliceable": "sliceable",
    "isreceptacleobject": "container",
}
_STATES: dict[str, State] = {
    "isclean": "clean",
    "ishot": "hot",
    "iscool": "cool",
    "istoggled": "toggled",
    "issliced": "sliced",
}
_GOAL_ABILITIES = ("cleanable", "heatable", "coolable", "toggleable")
_GOAL_LINKS = (
    "objecttype",
    "receptacletype",
    "inreceptacle",
    "holds",
    "atlocation",
    "receptacleatlocation",
    "=",
)

Tree = str | list["Tree"]


def read_problem(text: str, task_type: str, task: str) -> World:
    """The game that a problem describes.

    Args:
        text: the problem.
        task_type: one of `TASK_TYPES`.
        task: the goal in words.

    Raises:
        DataError: the problem is malformed, or asks for something that ALFWorld's text games do not have.
    """
    sections = {part[0]: part[1:] for part in _tree(text) if isinstance(part, list) and part}
    for name in (":init", ":goal"):
        if name not in sections:  # pyright: ignore[reportUnnecessaryContains]
            raise DataError(f"field {name}: missing from the problem")
    return _Facts(sections[":init"]).world(task_type, task, _goal(sections[":goal"]))


def _tree(text: str) -> list[Tree]:
    top: list[Tree] = []
    stack = [top]
    for match in _TOKEN.finditer(text.lower()):
        token = match.group()
        if token == "(":
            inner: list[Tree] = []
            stack[-1].append(inner)
            stack.append(inner)
        elif token == ")":
            if len(stack) == 1:
                raise DataError(f"character {match.start()}: a ')' without its '('")
            stack.pop()
        elif not token.startswith(";"):
            stack[-1].append(token)
    if len(stack) > 1:
        raise DataError(f"{len(stack) - 1} '(' without their ')' at the end of the problem")
    return top[0] if top and isinstance(top[0], list) else []


def _names(ids: Iterable[str]) -> dict[str, str]:
    """What entities are called: the type and a number that falls as the ids rise."""
    kinds = {entity: _name_kind(entity) for entity in sorted(ids)}
    left = Counter(kinds.values())
    names: dict[str, str] = {}
    for entity, kind in kinds.items():
        names[entity] = f"{kind} {left[kind]}"
        left[kind] -= 1
    return names


def _name_kind(entity: str) -> str:
    return entity.split("_bar_", 1)[0] + ("basin" if "basin" in entity else "")


class _Facts:
    """The initial facts of a problem, by predicate."""

    def __init__(self, init: list[Tree]) -> None:
        self._facts: dict[str, list[list[str]]] = defaultdict(list)
        for fact in init:
            if not isinstance(fact, list) or not fact or not isinstance(fact[0], str):
                raise DataError(f"field :init: {fact!r} is not a fact")
            if fact[0] != "=":  # costs and distances play no part
                self._facts[fact[0]].append([str(argument) for argument in fact[1:]])

    def world(self, task_type: str, task: str, goal: Goal) -> World:
        place_of = self._map("receptacleatlocation")
        kind_of, thing_kind = self._map("receptacletype"), self._map("objecttype")
        ids, things = sorted(set(place_of) & set(kind_of)), sorted(thing_kind)
        names = _names({argument for facts in self._facts.values() for fact in facts for argument in fact})
        places = {place: number for number, place in enumerate(sorted(set(place_of.values())))}
        fits: dict[str, set[str]] = defaultdict(set)
        for receptacle, thing in self._pairs("cancontain"):
            fits[receptacle].add(_type(thing))
        openable, opened = self._set("openable"), self._set("opened")
        receptacles = tuple(
            Receptacle(
                names[receptacle],
                _type(kind_of[receptacle]),
                places[place_of[receptacle]],
                receptacle in openable,
                frozenset(fits[kind_of[receptacle]]),
            )
            for receptacle in ids
        )
        number_of = {thing: number for number, thing in enumerate(things)}
        inside: dict[str, set[int]] = defaultdict(set)
        for thing, receptacle in self._pairs("inreceptacle"):
            if thing in number_of:
                inside[receptacle].add(number_of[thing])
        held = [number_of[thing] for _, thing in self._pairs("holds") if thing in number_of]
        starts = [place for _, place in self._pairs("atlocation")]
        if len(starts) != 1:
            raise DataError(f"field :init: {len(starts)} facts atLocation; the agent starts at one location")
        lying: dict[str, set[int]] = defaultdict(set)
        for thing, place in self._pairs("objectatlocation"):
            lying[thing].update({places[place]} if place in places else ())
        return World(
            task_type,
            task,
            goal,
            receptacles,
            tuple(self._thing(names, thing, thing_kind, number_of) for thing in things),
            tuple(tuple(sorted(inside[receptacle])) for receptacle in ids),
            tuple(frozenset(lying[thing]) for thing in things),
            frozenset(number for number, receptacle in enumerate(ids) if receptacle in opened),
            places.get(starts[0], -1),
            held[0] if held else None,
        )

    def _thing(
        self, names: dict[str, str], thing: str, kinds: dict[str, str], number_of: dict[str, int]
    ) -> Thing:
        return Thing(
            names[thing],
            _type(kinds[thing]),
            frozenset(ability for fact, ability in _ABILITIES.items() if thing in self._set(fact)),
            frozenset(state for fact, state in _STATES.items() if thing in self._set(fact)),
            tuple(
                sorted(
                    number_of[inner]
                    for inner, outer in self._pairs("inreceptacleobject")
                    if outer == thing and inner in number_of
                )
            ),
        )

    def _set(self, predicate: str) -> set[str]:
        return {fact[0] for fact in self._facts.get(predicate, ()) if fact}

    def _pairs(self, predicate: str) -> Iterator[tuple[str, str]]:
        for fact in self._facts.get(predicate, ()):
            if len(fact) != 2:
                raise DataError(f"field :init: {predicate} takes two arguments, not {fact!r}")
            yield fact[0], fact[1]

    def _map(self, predicate: str) -> dict[str, str]:
        found = dict(self._pairs(predicate))
        if not found:
            raise DataError(f"field :init: no fact {predicate}")
        return found


def _type(name: str) -> str:
    return name.removesuffix("type")


def _goal(trees: list[Tree]) -> Goal:
    """The goal, read off the atoms that its conditions are made of."""
    atoms: dict[str, list[list[str]]] = defaultdict(list)
    pending: list[Tree] = list(trees)
    while pending:
        tree = pending.pop()
        if isinstance(tree, list) and tree and isinstance(tree[0], str):
            if tree[0] in ("and", "not"):
                pending += tree[1:]
            elif tree[0] == "exists":
                pending += tree[2:]
            elif tree[0] in _GOAL_LINKS or tree[0] in _STATES or tree[0] in _GOAL_ABILITIES:
                atoms[tree[0]].append([str(part) for part in tree[1:]])
            else:
                raise DataError(f"field :goal: {tree[0]!r} is no part of a goal of ALFWorld's text games")
    things = {pair[-1] for pair in atoms["objecttype"]}
    states = [state for fact, state in _STATES.items() if fact in atoms and state != "toggled"]
    if "istoggled" in atoms:
        lamps = {variable for (variable,) in atoms["istoggled"]}
        lamp = {kind for variable, kind in atoms["objecttype"] if variable in lamps}
        return Goal(_only(things - lamp), lamp=_only(lamp))
    receptacle = _only({pair[-1] for pair in atoms["receptacletype"]})
    state = states[0] if states else None
    return Goal(_only(things), receptacle, state, 2 if "=" in atoms else 1)


def _only(kinds: set[str]) -> str:
    if len(kinds) != 1:
        raise DataError(f"field :goal: names {len(kinds)} types where one is needed: {sorted(kinds)}")
    return _type(next(iter(kinds)))
