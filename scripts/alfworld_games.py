"""Game files as ALFWorld's own generator writes them, made from what the `alfworld` package ships.

In: a seed and a number. Out: folders with `game.tw-pddl` and `traj_data.json`, from the package's room
layouts, domain, grammar, goals and object tables; things are placed at random. Needs `alfworld`.

    python -m scripts.alfworld_games FOLDER --num-games 24 --seed 0
"""

from __future__ import annotations

import argparse
import importlib.resources
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GOAL_ROOMS = {
    "pick_and_place_simple": (1, 201, 301, 401),
    "look_at_obj_in_light": (201, 301),
    "pick_clean_then_place_in_recep": (1, 401),
    "pick_heat_then_place_in_recep": (1,),
    "pick_cool_then_place_in_recep": (1,),
    "pick_two_obj_and_place": (1, 201, 301, 401),
}
"""Task type -> numbers of the first room of each kind it is played in; a kind has 30 rooms."""
NEEDS = {
    "pick_clean_then_place_in_recep": ("Cleanable", "SinkBasin"),
    "pick_heat_then_place_in_recep": ("Heatable", "Microwave"),
    "pick_cool_then_place_in_recep": ("Coolable", "Fridge"),
}
FIXED = ("Chair", "LightSwitch", "Window", "StoveKnob", "Faucet", "Mirror", "Curtains", "Blinds")
SHARED_PLACE, STARTS_OPEN, NESTED, STARTS_AT_RECEPTACLE = 0.1, 0.1, 0.1, 0.03
SIGNS = {"-": "_minus_", "#": "-", "|": "_bar_", "+": "_plus_", ".": "_dot_", ",": "_comma_"}


@dataclass(frozen=True)
class Source:
    """What the package ships."""

    layouts: Any
    """Folder of the room layouts."""
    domain: str
    """PDDL domain."""
    grammar: str
    """Grammar, with the goal still to be filled in."""
    goals: Mapping[str, Any]
    """Task type -> goal in PDDL and in words."""
    fits: Mapping[str, Any]
    """Receptacle type -> object types it may hold."""
    abilities: Mapping[str, Any]
    """`Cleanable`, `Heatable`, … -> object types."""
    openable: frozenset[str]
    """Receptacle types that open."""
    containers: frozenset[str]
    """Object types that hold others."""

    @classmethod
    def load(cls) -> Source:
        """Read the installed `alfworld` package."""
        from alfworld.gen import constants, goal_library

        package = importlib.resources.files("alfworld")
        containers = frozenset(constants.MOVABLE_RECEPTACLES_SET)
        return cls(
            package / "gen" / "layouts",
            (package / "data" / "alfred.pddl").read_text(encoding="utf-8"),
            (package / "data" / "alfred.twl2").read_text(encoding="utf-8"),
            goal_library.gdict,
            {name: fits for name, fits in constants.VAL_RECEPTACLE_OBJECTS.items() if name not in containers},
            constants.VAL_ACTION_OBJECTS,
            frozenset(constants.OPENABLE_CLASS_SET) - containers,
            containers,
        )


@dataclass
class Room:
    """A room with things in it, while a game is being made."""

    receptacles: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Id -> type and location."""
    things: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Id -> type and the receptacle it lies in, if any."""


def make_game(source: Source, task_type: str, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The contents of `game.tw-pddl` and of `traj_data.json`; equal arguments give equal games."""
    rng = random.Random(f"{task_type} {seed}")
    while True:
        first = rng.choice(GOAL_ROOMS[task_type])
        made = _try_game(source, task_type, rng.randrange(first, first + 30), rng)
        if made is not None:
            return made


def write_game(folder: Path, game: Mapping[str, Any], trajectory: Mapping[str, Any]) -> Path:
    """Write a game into `folder`; the path of its `game.tw-pddl`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "traj_data.json").write_text(json.dumps(trajectory), encoding="utf-8")
    file = folder / "game.tw-pddl"
    file.write_text(json.dumps(game), encoding="utf-8")
    return file


def _try_game(
    source: Source, task_type: str, plan: int, rng: random.Random
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """A game in a floor plan, or None where it cannot have one of this type."""
    try:
        kinds = sorted(json.loads((source.layouts / f"FloorPlan{plan}-objects.json").read_text("utf-8")))
        opens = json.loads((source.layouts / f"FloorPlan{plan}-openable.json").read_text("utf-8"))
    except OSError:
        return None
    room = Room()
    _add_receptacles(source, room, kinds, opens, rng)
    present = {kind for kind, _ in room.receptacles.values()}
    target, parent = _choose_goal(source, task_type, kinds, present, rng)
    if not target:
        return None
    _add_things(source, room, kinds, target, parent, rng)
    toggle = parent if task_type == "look_at_obj_in_light" else ""
    words = {"obj": target, "recep": parent, "toggle": toggle}
    library = source.goals[task_type]
    goal = _mangle(library["pddl"].format(**words))
    task = rng.choice(library["templates"]).format(**{name: word.lower() for name, word in words.items()})
    game = {
        "pddl_domain": source.domain,
        "grammar": source.grammar.replace("UNKNOWN GOAL", task),
        "pddl_problem": _problem(source, room, goal, toggle, rng),
        "solvable": True,
        "walkthrough": None,
    }
    parameters = {
        "object_target": target,
        "parent_target": "" if toggle else parent,
        "toggle_target": toggle,
        "mrecep_target": "",
        "object_sliced": False,
    }
    return game, {
        "task_type": task_type,
        "pddl_params": parameters,
        "scene": {"floor_plan": f"FloorPlan{plan}"},
    }


def _choose_goal(
    source: Source, task_type: str, kinds: list[str], present: set[str], rng: random.Random
) -> tuple[str, str]:
    """Type of the thing, and of the receptacle or the lamp; empty where the room lacks something."""
    ability, appliance = NEEDS.get(task_type, ("", ""))
    held = {kind for name in present for kind in source.fits.get(name, ())}
    targets = sorted(
        kind
        for kind in set(kinds) & held
        if (not ability or kind in source.abilities[ability]) and kind not in source.abilities["Toggleable"]
    )
    if not targets or (appliance and appliance not in present):
        return "", ""
    target = rng.choice(targets)
    if task_type == "look_at_obj_in_light":
        parents = sorted(source.abilities["Toggleable"] & set(kinds))
    else:
        parents = sorted(name for name in present if target in source.fits.get(name, ()))
    return (target, rng.choice(parents)) if parents else ("", "")


def _add_receptacles(
    source: Source, room: Room, kinds: list[str], opens: Mapping[str, Any], rng: random.Random
) -> None:
    names = sorted(name for name in opens if name.split("|")[0] in source.fits)
    for kind in sorted(set(kinds) & set(source.fits)):
        if not any(name.startswith(f"{kind}|") for name in names):
            names += [_new_id(kind, rng) for _ in range(rng.choice((1, 1, 2, 3)))]
    locations: list[str] = []
    for name in names:
        kind = name.split("|")[-1] if name.endswith("Basin") else name.split("|")[0]
        point = opens.get(name) or [rng.randrange(-8, 8) / 4 for _ in range(2)] + [90, rng.choice((0, 30))]
        location = (
            "loc|" + "|".join(str(int(number * 4)) for number in point[:2]) + f"|{point[2] // 90}|{point[3]}"
        )
        if locations and rng.random() < SHARED_PLACE:
            location = rng.choice(locations)
        locations.append(location)
        room.receptacles[name] = (kind, location)


def _add_things(
    source: Source, room: Room, kinds: list[str], target: str, parent: str, rng: random.Random
) -> None:
    lamps = source.abilities["Toggleable"]
    wanted = [target] * rng.randint(2, 4) + [kind for kind in kinds if kind in lamps]
    movable = sorted({kind for fits in source.fits.values() for kind in fits} & set(kinds))
    wanted += [kind for kind in movable for _ in range(rng.choice((0, 1, 1, 1, 2))) if kind != target]
    wanted += [kind for kind in kinds if kind in FIXED]
    for kind in wanted:
        homes = [name for name, (home, _) in room.receptacles.items() if kind in source.fits.get(home, ())]
        if kind == target:
            homes = [name for name in homes if room.receptacles[name][0] != parent] or homes
        if kind in lamps:
            homes = [name for name, (home, _) in room.receptacles.items() if home not in source.openable]
        room.things[_new_id(kind, rng)] = (kind, rng.choice(sorted(homes)) if homes else None)


def _new_id(kind: str, rng: random.Random) -> str:
    point = "|".join(f"{rng.uniform(-3, 3):+06.2f}" for _ in range(3))
    # a basin's id is the id of what it belongs to, and its own type
    return f"{kind.removesuffix('Basin')}|{point}|{kind}" if kind.endswith("Basin") else f"{kind}|{point}"


def _problem(source: Source, room: Room, goal: str, toggle: str, rng: random.Random) -> str:
    otypes = sorted(
        {kind for fits in source.fits.values() for kind in fits} | {kind for kind, _ in room.things.values()}
    )
    for kind in ("Knife", "ButterKnife", toggle):
        if kind and kind not in otypes:
            otypes.append(kind)
    locations = sorted({location for _, location in room.receptacles.values()})
    start = rng.choice(locations) if rng.random() < STARTS_AT_RECEPTACLE else "loc|9|9|0|30"
    lines = ["agent1 # agent", *(f"{kind}Type # otype" for kind in otypes)]
    lines += [f"{kind}Type # rtype" for kind in sorted(source.fits)]
    lines += [f"{thing} # object" for thing in room.things]
    lines += [f"{name} # receptacle" for name in room.receptacles]
    lines += [f"{location} # location" for location in sorted({*locations, start})]
    facts = ["(= (total-cost) 0)", f"(atLocation agent1 {start})"]
    facts += [
        f"(canContain {name}Type {kind}Type)" for name, fits in source.fits.items() for kind in sorted(fits)
    ]
    for name, (kind, location) in room.receptacles.items():
        facts += [f"(receptacleType {name} {kind}Type)", f"(receptacleAtLocation {name} {location})"]
        if kind in source.openable:
            facts.append(f"(openable {name})")
            if rng.random() < STARTS_OPEN:
                facts.append(f"(opened {name})")
    for thing, (kind, home) in room.things.items():
        facts += _thing_facts(source, room, thing, kind, home, rng)
    words = (
        _mangle("\n        ".join(lines)),
        _mangle("\n        ".join(facts)).replace("total_minus_cost", "total-cost"),
    )
    return (
        "(define (problem game)\n    (:domain alfred)\n"
        f"    (:objects\n        {words[0]}\n    )\n    (:init\n        {words[1]}\n    )\n{goal}"
    )


def _thing_facts(
    source: Source, room: Room, thing: str, kind: str, home: str | None, rng: random.Random
) -> list[str]:
    facts = [f"(objectType {thing} {kind}Type)"]
    facts += [
        f"({name.lower()} {thing})" for name, kinds in sorted(source.abilities.items()) if kind in kinds
    ]
    lamp = kind in source.abilities["Toggleable"]
    if not lamp and kind not in FIXED:
        facts.append(f"(pickupable {thing})")
    if kind in source.containers:
        facts.append(f"(isReceptacleObject {thing})")
    if home is None:
        return facts
    facts += [f"(inReceptacle {thing} {home})", f"(objectAtLocation {thing} {room.receptacles[home][1]})"]
    if room.receptacles[home][0] == "Fridge" and kind in source.abilities["Coolable"]:
        facts.append(f"(isCool {thing})")
    bowls = [
        other
        for other, (outer, place) in room.things.items()
        if place == home and outer in source.containers and other != thing
    ]
    if bowls and kind not in source.containers and rng.random() < NESTED:
        facts.append(f"(inReceptacleObject {thing} {rng.choice(bowls)})")
    return facts


def _mangle(text: str) -> str:
    return "".join(SIGNS.get(sign, sign) for sign in text)


def main() -> None:
    """Write games into a folder, the six types in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--num-games", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    source, types = Source.load(), tuple(GOAL_ROOMS)
    for number in range(options.num_games):
        task_type = types[number % len(types)]
        write_game(options.folder / f"{number:04}", *make_game(source, task_type, options.seed + number))
    print(f"{options.num_games} games in {options.folder}")


if __name__ == "__main__":
    main()
