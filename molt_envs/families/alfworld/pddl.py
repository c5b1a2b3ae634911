"""Planning problems (PDDL) as a `World`.

In: the text of a problem in ALFWorld's domain, and the goal in words. Out: a `World`, or a `DataError`
that says which part of the problem is wrong.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from molt_envs.errors import DataError
from molt_envs.families.alfworld.world import STATES, Goal, Receptacle, Thing, World

_TOKEN = re.compile(r";[^\n]*|[()]|[^\s();]+")
_GOAL_ABILITIES = ("cleanable", "heatable", "coolable", "toggleable")
_ABILITIES = {name: name for name in ("pickupable", "sliceable", *_GOAL_ABILITIES)}
_ABILITIES["isreceptacleobject"] = "container"
_STATES = {f"is{state}": state for state in STATES}
_GOAL_FACTS = {
    **dict.fromkeys(("objecttype", "receptacletype", "inreceptacle", "holds", "="), 2),
    **dict.fromkeys(("atlocation", "receptacleatlocation"), 2),
    **dict.fromkeys((*_STATES, *_GOAL_ABILITIES), 1),
}
"""What a goal is made of, with the number of arguments."""

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
    sections = {str(part[0]): part[1:] for part in _tree(text) if isinstance(part, list) and part}
    for name in (":init", ":goal"):
        if name not in sections:
            raise DataError(f"field {name}: missing from the problem")
    facts = _Facts(sections[":init"])
    place_of, thing_kind = facts.map("receptacleatlocation"), facts.map("objecttype")
    ids, things = sorted(place_of), sorted(thing_kind)
    place_number = {place: number for number, place in enumerate(sorted({*place_of.values()}))}
    starts = facts.pairs("atlocation")
    if len(starts) != 1:
        raise DataError(f"field :init: {len(starts)} facts atLocation; the agent starts at one location")
    inside, lying = facts.groups("inreceptacle", 1), facts.groups("objectatlocation", 0)
    number_of = {thing: number for number, thing in enumerate(things)}
    held = [number_of[thing] for _, thing in facts.pairs("holds") if thing in number_of]
    return World(
        task_type,
        task,
        _goal(sections[":goal"]),
        facts.receptacles(ids, place_of, place_number),
        facts.things(things, thing_kind, number_of),
        tuple(_numbers(number_of, inside[name]) for name in ids),
        tuple(frozenset(_numbers(place_number, lying[name])) for name in things),
        frozenset(number for number, name in enumerate(ids) if name in facts.set("opened")),
        place_number.get(starts[0][1], -1),
        held[0] if held else None,
    )


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


class _Facts:
    """The initial facts of a problem."""

    def __init__(self, init: list[Tree]) -> None:
        self._facts: dict[str, list[list[str]]] = defaultdict(list)
        for fact in init:
            if not isinstance(fact, list) or len(fact) < 2:
                raise DataError(f"field :init: {fact!r} is not a fact")
            if fact[0] != "=":  # costs and distances play no part
                self._facts[str(fact[0])].append([str(argument) for argument in fact[1:]])
        # names are the type and a number that falls as the ids rise
        named = {name for facts in self._facts.values() for fact in facts for name in fact}
        kinds = {name: name.split("_bar_")[0] + "basin" * ("basin" in name) for name in sorted(named)}
        left = Counter(kinds.values())
        self._names: dict[str, str] = {}
        for name, kind in kinds.items():
            self._names[name] = f"{kind} {left[kind]}"
            left[kind] -= 1

    def receptacles(
        self, ids: Iterable[str], place_of: Mapping[str, str], numbers: Mapping[str, int]
    ) -> tuple[Receptacle, ...]:
        kind_of, fits, openable = (
            self.map("receptacletype"),
            self.groups("cancontain", 0),
            self.set("openable"),
        )
        if missing := set(ids) - set(kind_of):
            raise DataError(f"field :init: no fact receptacleType for {min(missing)}")
        return tuple(
            Receptacle(
                self._names[name],
                _type(kind_of[name]),
                numbers[place_of[name]],
                name in openable,
                frozenset(map(_type, fits[kind_of[name]])),
            )
            for name in ids
        )

    def things(
        self, ids: Iterable[str], kinds: Mapping[str, str], numbers: Mapping[str, int]
    ) -> tuple[Thing, ...]:
        abilities = [(ability, self.set(fact)) for fact, ability in _ABILITIES.items()]
        states = [(state, self.set(fact)) for fact, state in _STATES.items()]
        contents = self.groups("inreceptacleobject", 1)
        return tuple(
            Thing(
                self._names[name],
                _type(kinds[name]),
                frozenset(ability for ability, having in abilities if name in having),
                frozenset(state for state, having in states if name in having),
                _numbers(numbers, contents[name]),
            )
            for name in ids
        )

    def set(self, predicate: str) -> set[str]:
        return {fact[0] for fact in self._facts[predicate]}

    def pairs(self, predicate: str) -> list[tuple[str, str]]:
        for fact in self._facts[predicate]:
            if len(fact) != 2:
                raise DataError(f"field :init: {predicate} takes two arguments, not {fact!r}")
        return [(fact[0], fact[1]) for fact in self._facts[predicate]]

    def map(self, predicate: str) -> dict[str, str]:
        if not self._facts[predicate]:
            raise DataError(f"field :init: no fact {predicate}")
        return dict(self.pairs(predicate))

    def groups(self, predicate: str, by: int) -> dict[str, set[str]]:
        """The other arguments of a predicate for each value of the argument at `by`."""
        found: dict[str, set[str]] = defaultdict(set)
        for pair in self.pairs(predicate):
            found[pair[by]].add(pair[1 - by])
        return found


def _numbers(number_of: Mapping[str, int], names: Iterable[str]) -> tuple[int, ...]:
    return tuple(sorted(number_of[name] for name in names if name in number_of))


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
            elif _GOAL_FACTS.get(tree[0]) == len(tree) - 1:
                atoms[tree[0]].append([str(part) for part in tree[1:]])
            else:
                raise DataError(f"field :goal: {tree!r} is no part of a goal of ALFWorld's text games")
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
