"""A house with a handful of things, as a `World` and as the original's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from molt_envs.families.alfworld.world import Goal, Receptacle, Thing, World

FOOD = frozenset({"pickupable", "cleanable", "heatable", "coolable", "sliceable"})
HOLDS = frozenset({"apple", "mug", "knife"})


def small_world(goal: Goal | None = None) -> World:
    """Fridge (closed: apple 1), microwave, sink and a table (apple 2, knife 1, mug 1, desklamp 1)."""
    receptacles = (
        Receptacle("desk 1", "desk", 0, False, HOLDS | {"desklamp"}),
        Receptacle("fridge 1", "fridge", 1, True, HOLDS - {"knife"}),
        Receptacle("microwave 1", "microwave", 2, True, HOLDS - {"knife"}),
        Receptacle("sinkbasin 1", "sinkbasin", 3, False, HOLDS),
    )
    things = (
        Thing("apple 2", "apple", FOOD),
        Thing("apple 1", "apple", FOOD),
        Thing("desklamp 1", "desklamp", frozenset({"toggleable"})),
        Thing("knife 1", "knife", frozenset({"pickupable", "cleanable"})),
        Thing("mug 1", "mug", frozenset({"pickupable", "container"})),
    )
    inside = ((0, 2, 3, 4), (1,), (), ())
    places = tuple(frozenset({1 if thing == 1 else 0}) for thing in range(5))
    goal = goal or Goal("apple", "sinkbasin")
    return World(
        "pick_and_place_simple", "put a apple in sinkbasin.", goal, receptacles, things, inside, places
    )


PROBLEM = """
(define (problem small) (:domain alfred)
  (:objects agent1 - agent Apple_bar_a - object Apple_bar_b - object Bowl_bar_a - object
     Fridge_bar_a - receptacle Sink_bar_a_bar_SinkBasin - receptacle loc_bar_1 loc_bar_2 loc_bar_9 - location)
  (:init (= (total-cost) 0) (= (distance loc_bar_1 loc_bar_2) 3) ; costs are not read
    (atLocation agent1 loc_bar_9)
    (receptacleType Fridge_bar_a FridgeType) (receptacleType Sink_bar_a_bar_SinkBasin SinkBasinType)
    (receptacleAtLocation Fridge_bar_a loc_bar_1) (receptacleAtLocation Sink_bar_a_bar_SinkBasin loc_bar_2)
    (openable Fridge_bar_a) (opened Fridge_bar_a)
    (canContain SinkBasinType AppleType) (canContain FridgeType AppleType) (canContain FridgeType BowlType)
    (objectType Apple_bar_a AppleType) (objectType Apple_bar_b AppleType) (objectType Bowl_bar_a BowlType)
    (pickupable Apple_bar_a) (cleanable Apple_bar_a) (isCool Apple_bar_a) (pickupable Apple_bar_b)
    (isReceptacleObject Bowl_bar_a) (inReceptacleObject Apple_bar_b Bowl_bar_a)
    (inReceptacle Apple_bar_a Fridge_bar_a) (inReceptacle Bowl_bar_a Fridge_bar_a)
    (objectAtLocation Apple_bar_a loc_bar_1) (objectAtLocation Bowl_bar_a loc_bar_1)
  )
  (:goal (and (exists (?r - receptacle) (exists (?o - object) (and
     (cleanable ?o) (objectType ?o AppleType) (receptacleType ?r SinkBasinType) (isClean ?o)
     (inReceptacle ?o ?r)
  )))))
)
"""


def write_game(folder: Path, **changes: Any) -> Path:
    """The small house as a game file with its trajectory; `changes` replace fields of the game."""
    folder.mkdir(parents=True, exist_ok=True)
    grammar = '{"task": [{"rhs": "Your task is to: clean some apple and put it in \\"sinkbasin\\"."}]}'
    game = {
        "pddl_domain": "",
        "grammar": grammar,
        "pddl_problem": PROBLEM,
        "solvable": True,
        "walkthrough": [],
    }
    game |= changes
    (folder / "traj_data.json").write_text(json.dumps({"task_type": "pick_clean_then_place_in_recep"}))
    file = folder / "game.tw-pddl"
    file.write_text(json.dumps(game))
    return file
