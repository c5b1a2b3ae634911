"""Tasks: a goal in, a room full of things out.

What lies where depends on the goal alone, so a task is the same in every process.
"""

from __future__ import annotations

import random
from functools import cache

from molt_envs.families.alfworld.household import Kind, RoomGoal, kinds
from molt_envs.families.alfworld.world import TASK_TYPES, Goal, Thing, World

WORDS = {
    "pick_and_place_simple": ("put a {0} in {1}", "put some {0} on {1}"),
    "look_at_obj_in_light": ("look at {0} under the {1}", "examine the {0} with the {1}"),
    "pick_clean_then_place_in_recep": ("put a clean {0} in {1}", "clean some {0} and put it in {1}"),
    "pick_heat_then_place_in_recep": ("put a hot {0} in {1}", "heat some {0} and put it in {1}"),
    "pick_cool_then_place_in_recep": ("put a cool {0} in {1}", "cool some {0} and put it in {1}"),
    "pick_two_obj_and_place": ("put two {0} in {1}", "find two {0} and put them in {1}"),
}
STATES = {
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "hot",
    "pick_cool_then_place_in_recep": "cool",
}
assert tuple(WORDS) == TASK_TYPES


def make_world(wanted: RoomGoal) -> World:
    """The room with its things, none of those wanted being where it is to be brought."""
    rng = random.Random(f"{wanted.room.name} {wanted.task_type} {wanted.thing} {wanted.target}")
    receptacles = wanted.room.receptacles
    look, two = wanted.task_type == "look_at_obj_in_light", wanted.task_type == "pick_two_obj_and_place"
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
    state = STATES.get(wanted.task_type)
    if look:
        goal = Goal(wanted.thing, lamp=wanted.target)
    else:
        goal = Goal(wanted.thing, wanted.target, state, 2 if two else 1)
    return World(
        wanted.task_type,
        f"{rng.choice(WORDS[wanted.task_type]).format(wanted.thing, wanted.target)}.",
        goal,
        receptacles,
        tuple(things),
        tuple(map(tuple, inside)),
        tuple(frozenset((receptacles[home].place,)) for home in homes),
    )


@cache
def _thing(kind: Kind, number: int) -> Thing:
    return Thing(f"{kind.name} {number}", kind.name, kind.abilities)
