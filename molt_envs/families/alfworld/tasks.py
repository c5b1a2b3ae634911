"""Tasks: a goal in, a room full of things out.

What lies where depends on the goal alone, so a task is the same in every process.
"""

from __future__ import annotations

import random
from functools import cache

from molt_envs.families.alfworld.household import Kind, RoomGoal, kinds, task_kinds
from molt_envs.families.alfworld.world import Goal, Thing, World


def make_world(wanted: RoomGoal) -> World:
    """The room with its things, none of those wanted being where it is to be brought."""
    rng = random.Random(f"{wanted.room.name} {wanted.task_type} {wanted.thing} {wanted.target}")
    receptacles = wanted.room.receptacles
    two = wanted.task_type == "pick_two_obj_and_place"
    things: list[Thing] = []
    homes: list[int] = []
    for kind in kinds().values():
        if wanted.room.kind not in kind.rooms:
            continue
        fitting = [number for number, receptacle in enumerate(receptacles) if receptacle.kind in kind.fits]
        if kind.name == wanted.thing:
            count = rng.randint(2, 4) if two else rng.randint(1, 3)
            fitting = [number for number in fitting if receptacles[number].kind != wanted.target]
        elif "toggleable" in kind.abilities:
            count = 1 if kind.name == wanted.target else rng.randint(0, 1)
        else:
            count = rng.choice((0, 0, 1, 1, 2, 3))
        if fitting:
            for number in range(count, 0, -1):
                things.append(_thing(kind, number))
                homes.append(rng.choice(fitting))
    inside: list[list[int]] = [[] for _ in receptacles]
    for thing, home in enumerate(homes):
        inside[home].append(thing)
    task_kind = task_kinds()[wanted.task_type]
    goal = Goal(wanted.thing, wanted.target, task_kind.state, 2 if two else 1)
    if wanted.task_type == "look_at_obj_in_light":
        goal = Goal(wanted.thing, lamp=wanted.target)
    return World(
        wanted.task_type,
        f"{rng.choice(task_kind.words).format(wanted.thing, wanted.target)}.",
        goal,
        receptacles,
        tuple(things),
        tuple(map(tuple, inside)),
        tuple(frozenset((receptacles[home].place,)) for home in homes),
    )


@cache
def _thing(kind: Kind, number: int) -> Thing:
    return Thing(f"{kind.name} {number}", kind.name, kind.abilities)
