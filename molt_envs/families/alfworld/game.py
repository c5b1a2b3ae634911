"""The household engine: commands in, ALFWorld's words out.

In: a `World` and commands. Out: feedback, the commands that do something now, and whether the goal is met.
A command is valid if it is one of `commands`, so that validity and admissibility cannot differ; `admissible`
has them in alphabetical order. `state_key` is equal in equal states of one world; it tells where things are.
"""

from __future__ import annotations

import re
from bisect import insort
from functools import cache
from pathlib import Path

from molt_envs.families.alfworld.world import World

NOTHING = "Nothing happens."
APPLIANCES = {
    "clean": ("cleanable", "sinkbasin", "clean", ""),
    "cool": ("coolable", "fridge", "cool", "hot"),
    "heat": ("heatable", "microwave", "hot", "cool"),
}
"""What the thing must be able to, the type of receptacle, the state that it gets, the one that ends."""
_MOVE = re.compile(r"move (.+) to (.+)")
KNIVES = ("knife", "butterknife")

Command = tuple[str, int, int]
"""A verb with a thing or a receptacle, and a receptacle or a second thing; -1 for none."""


class Game:
    """One game.

    Args:
        world: what is played; it is not changed.
        put: whether things are `put … in/on` receptacles, as before version 0.4; `move … to` does the same.
    """

    def __init__(self, world: World, put: bool = False) -> None:
        self.world = world
        self.here = world.start
        self.held = world.held
        self.inside = [list(things) for things in world.inside]
        self.opened = set(world.opened)
        self.states: list[set[str]] = [set(thing.states) for thing in world.things]
        self.places = [set(places) for places in world.places]
        self._taken: set[tuple[int, int]] = set()
        self._put, self._move = put, move_command(put)
        self._moved = "You put the {} in/on the {}." if put else "You move the {} to the {}."
        self._still: dict[int, dict[str, Command]] = {}
        self._update()

    def intro(self) -> str:
        """What the game says before the first command."""
        names = [f"a {receptacle.name}" for receptacle in self.world.receptacles]
        room, task = self._look(names), self.world.task
        return f"-= Welcome to TextWorld, ALFRED! =-\n\n{room}\n\nYour task is to: {task}"

    def act(self, text: str) -> str:
        """Carry out a command, and say what happens."""
        command = self.commands.get(text.strip())
        if command is None and self._put:
            command = self.commands.get(_MOVE.sub(r"put \1 in/on \2", text.strip()))
        if command is None:
            return NOTHING
        verb, first, second = command
        if verb == "look":
            return self._look([])
        if verb == "examine":
            return self._examine(first)
        if verb == "view":
            return self._view(first)
        if verb == "inventory":
            if self.held is None:
                return "You are not carrying anything."
            return f"You are carrying: a {self.world.things[self.held].name}."
        if verb == "help":
            return help_text()
        feedback = self._change(verb, first, second)
        self._update()
        return feedback

    def _update(self) -> None:
        """Bring up to date what is asked for after every step."""
        self.commands = self._commands()
        self.admissible = tuple(sorted(self.commands))
        self.won = self._is_won()
        states = [(number, sorted(states)) for number, states in enumerate(self.states) if states]
        self.state_key = (
            f"{self.here}|{self.held}|{self.inside}|{sorted(self.opened)}|{states}|{sorted(self._taken)}"
        )

    def _change(self, verb: str, first: int, second: int) -> str:
        world = self.world
        if verb == "go":
            self.here = world.receptacles[first].place
            return f"You arrive at {world.receptacles[first].name}. {self._view(first)}"
        if verb == "open":
            self.opened.add(first)
            return f"You open the {world.receptacles[first].name}. {self._view(first)}"
        if verb == "close":
            self.opened.remove(first)
            return f"You close the {world.receptacles[first].name}."
        thing = world.things[first].name
        if verb == "use":
            self.states[first].add("toggled")
            return f"You turn on the {thing}."
        if verb == "slice":
            self.states[first].add("sliced")
            return f"You sliced the {thing} with the {world.things[second].name}."
        receptacle = world.receptacles[second].name
        if verb == "take":
            self.inside[second].remove(first)
            if len(world.at_place[self.here]) > 1:
                self._taken.add((first, second))
            self.places[first].discard(self.here)
            self.held = first
            return f"You pick up the {thing} from the {receptacle}."
        if verb == "move":
            if first not in self.inside[second]:
                insort(self.inside[second], first)
            self._taken.discard((first, second))
            self.places[first].add(self.here)
            self.held = None
            return self._moved.format(thing, receptacle)
        _, _, gained, lost = APPLIANCES[verb]
        self.states[first].add(gained)
        self.states[first].discard(lost)
        return f"You {verb} the {thing} using the {receptacle}."

    def _commands(self) -> dict[str, Command]:
        """What every command that does something here means."""
        still = self._still.get(self.here)
        if still is None:
            still = self._still[self.here] = self._commands_of_place()
        commands, world, held = still.copy(), self.world, self.held
        if held is not None:
            self._add_held(commands, held)
        for number in world.at_place.get(self.here, ()):
            receptacle = world.receptacles[number]
            things = [(thing, world.things[thing]) for thing in self.inside[number]]
            for index, thing in things:
                if "toggleable" in thing.abilities:
                    commands[f"use {thing.name}"] = ("use", index, number)
            if receptacle.openable:
                if number not in self.opened:
                    commands[f"open {receptacle.name}"] = ("open", number, -1)
                    continue
                commands[f"close {receptacle.name}"] = ("close", number, -1)
            if held is None:
                for index, thing in things:
                    if "pickupable" in thing.abilities:
                        commands[f"take {thing.name} from {receptacle.name}"] = ("take", index, number)
            elif world.things[held].kind in receptacle.holds:
                name = self._move.format(world.things[held].name, receptacle.name)
                commands[name] = ("move", held, number)
        return commands

    def _commands_of_place(self) -> dict[str, Command]:
        """The commands of a place that do not depend on the rest of the state."""
        commands: dict[str, Command] = {verb: (verb, -1, -1) for verb in ("help", "inventory", "look")}
        for number, receptacle in enumerate(self.world.receptacles):
            if receptacle.place == self.here:
                commands[f"examine {receptacle.name}"] = ("view", number, -1)
            else:
                commands[f"go to {receptacle.name}"] = ("go", number, -1)
        return commands

    def _add_held(self, commands: dict[str, Command], held: int) -> None:
        """What can be done with the thing in the hand; only that can be examined, as in the original."""
        world, thing = self.world, self.world.things[held]
        commands[f"examine {thing.name}"] = ("examine", held, -1)
        for number in world.at_place.get(self.here, ()):
            receptacle = world.receptacles[number]
            for verb, (ability, kind, _, _) in APPLIANCES.items():
                if receptacle.kind == kind and ability in thing.abilities:
                    commands[f"{verb} {thing.name} with {receptacle.name}"] = (verb, held, number)
        if thing.kind in KNIVES:
            for number, other in enumerate(world.things):
                if "sliceable" in other.abilities and self.here in self.places[number]:
                    commands[f"slice {other.name} with {thing.name}"] = ("slice", number, held)

    def _view(self, number: int) -> str:
        receptacle = self.world.receptacles[number]
        if receptacle.openable:
            if number not in self.opened:
                return f"The {receptacle.name} is closed."
            return f"The {receptacle.name} is open. In it, you see {self._names(self.inside[number])}."
        return f"On the {receptacle.name}, you see {self._names(self.inside[number])}."

    def _examine(self, number: int) -> str:
        thing, states = self.world.things[number], self.states[number]
        name = thing.name
        if "container" in thing.abilities:
            return f"This is a normal {name}. In it, you see {self._names(thing.contents)}."
        warmth = "hot" if "hot" in states else "cool" if "cool" in states else ""
        words = " and ".join(word for word in (warmth, "clean" if "clean" in states else "") if word)
        if words:
            if "sliced" in states:
                return f"This is a {words} sliced {name}."
            return f"This is a {'cold' if words == 'cool' else words} {name}."
        if "toggleable" in thing.abilities and "toggled" in states:
            return f"This {name} is on."
        if "sliceable" in thing.abilities and "sliced" in states:
            return f"This is a sliced {name}."
        return f"There's nothing special about {name}."

    def _look(self, from_afar: list[str]) -> str:
        """What is around; `from_afar` are the receptacles seen where there is none here."""
        here = self.world.at_place.get(self.here, ())
        if not here:
            return f"You are in the middle of a room. Looking quickly around you, you see {_list(from_afar)}."
        facing = _list([self.world.receptacles[number].name for number in here])
        # what was taken from one receptacle and put into another of the same place counts as lying beside
        beside = [
            thing
            for thing, receptacle in sorted(self._taken)
            if receptacle in here and self.here in self.places[thing]
        ]
        return f"You are facing the {facing}. Next to it, you see {self._names(beside)}."

    def _names(self, things: list[int] | tuple[int, ...]) -> str:
        return _list([f"a {self.world.things[thing].name}" for thing in things])

    def _is_won(self) -> bool:
        world, goal = self.world, self.world.goal
        if goal.lamp:
            near = [thing for number in world.at_place.get(self.here, ()) for thing in self.inside[number]]
            lit = any(world.things[one].kind == goal.lamp and "toggled" in self.states[one] for one in near)
            return lit and self.held is not None and world.things[self.held].kind == goal.thing
        fits = [
            thing.kind == goal.thing and (goal.state is None or goal.state in states)
            for thing, states in zip(world.things, self.states, strict=True)
        ]
        return any(
            receptacle.kind == goal.receptacle and sum(fits[thing] for thing in things) >= goal.num_things
            for receptacle, things in zip(world.receptacles, self.inside, strict=True)
        )


@cache
def help_text() -> str:
    """What `help` answers."""
    return (Path(__file__).parent / "data" / "help.txt").read_text("utf-8")


def move_command(put: bool) -> str:
    """The command that puts a thing into a receptacle, with a field for either name."""
    return "put {} in/on {}" if put else "move {} to {}"


def _list(names: list[str]) -> str:
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"{', '.join(names[:-1])}, and {names[-1]}"
