"""Planning problems (PDDL) as a `World`.

In: the text of a problem in ALFWorld's domain, and the goal in words. Out: a `World`, or a `DataError`
that says which part of the problem is wrong.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

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
    return _Problem(sections[":init"]).world(task_type, task, _goal(sections[":goal"]))


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


class _Problem:
    """The initial facts of a problem; places and things are numbered in the order of their ids."""

    def __init__(self, init: list[Tree]) -> None:
        self._facts: dict[str, list[list[str]]] = defaultdict(list)
        for fact in init:
            if not isinstance(fact, list) or len(fact) < 2:
                raise DataError(f"field :init: {fact!r} is not a fact")
            if fact[0] != "=":  # costs and distances play no part
                self._facts[str(fact[0])].append([str(argument) for argument in fact[1:]])
        self._place_of, self._kind_of = self.map("receptacleatlocation"), self.map("objecttype")
        self._place = {place: number for number, place in enumerate(sorted({*self._place_of.values()}))}
        self._thing = {name: number for number, name in enumerate(sorted(self._kind_of))}

    def world(self, task_type: str, task: str, goal: Goal) -> World:
        starts = self.pairs("atlocation")
        if len(starts) != 1:
            raise DataError(f"field :init: {len(starts)} facts atLocation; the agent starts at one location")
        ids, names, opened = sorted(self._place_of), self.names(), self.set("opened")
        inside, lying = self.groups("inreceptacle", 1), self.groups("objectatlocation", 0)
        held = [self._thing[thing] for _, thing in self.pairs("holds") if thing in self._thing]
        return World(
            task_type,
            task,
            goal,
            tuple(self.receptacles(ids, names)),
            tuple(self.things(names)),
            tuple(_numbers(self._thing, inside[name]) for name in ids),
            tuple(frozenset(_numbers(self._place, lying[name])) for name in self._thing),
            frozenset(number for number, name in enumerate(ids) if name in opened),
            self._place.get(starts[0][1], -1),
            held[0] if held else None,
        )

    def names(self) -> dict[str, str]:
        """What every id is called: its type and a number that falls as the ids rise."""
        ids = sorted({name for facts in self._facts.values() for fact in facts for name in fact})
        kinds = [name.split("_bar_")[0] + "basin" * ("basin" in name) for name in ids]
        left, names = Counter(kinds), dict[str, str]()
        for name, kind in zip(ids, kinds, strict=True):
            names[name] = f"{kind} {left[kind]}"
            left[kind] -= 1
        return names

    def receptacles(self, ids: Iterable[str], names: Mapping[str, str]) -> Iterator[Receptacle]:
        kind_of, fits, openable = (
            self.map("receptacletype"),
            self.groups("cancontain", 0),
            self.set("openable"),
        )
        for name in ids:
            if name not in kind_of:
                raise DataError(f"field :init: no fact receptacleType for {name}")
            kind, holds = _type(kind_of[name]), frozenset(map(_type, fits[kind_of[name]]))
            yield Receptacle(names[name], kind, self._place[self._place_of[name]], name in openable, holds)

    def things(self, names: Mapping[str, str]) -> Iterator[Thing]:
        able = [(ability, self.set(fact)) for fact, ability in _ABILITIES.items()]
        being = [(state, self.set(fact)) for fact, state in _STATES.items()]
        contents = self.groups("inreceptacleobject", 1)
        for name in self._thing:
            abilities = frozenset(ability for ability, having in able if name in having)
            states = frozenset(state for state, having in being if name in having)
            inner = _numbers(self._thing, contents[name])
            yield Thing(names[name], _type(self._kind_of[name]), abilities, states, inner)

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
