"""Policies that play the household: an expert that searches and then does what is asked, and a fixed routine.

In: the world of the running task, and admissible actions. Out: actions. The expert looks into a few wrong
receptacles first, so that what it does can be imitated by a policy that does not know where things are.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from molt_envs.families.alfworld.game import APPLIANCES, move_command
from molt_envs.families.alfworld.world import World

NUM_WRONG = 4
"""Most receptacles that are searched in vain for one thing; with it, every task ends within 50 steps."""


class HouseholdOracle:
    """Carries out a plan that is made when the episode begins.

    Args:
        world: of the running task.
        put: the form of the command that puts things down, as for `Game`.
        seed: fixes what is searched and which steps are left out.
        noise: probability with which a step that is needed is left out.
    """

    def __init__(self, world: World, put: bool = False, seed: int = 0, noise: float = 0.0) -> None:
        self._world, self._put = world, put
        self._rng = random.Random(f"{seed} {world.task}")
        self._opened = set(world.opened)
        self._plan = [action for action in self._steps() if self._rng.random() >= noise]

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action; `look` once the plan is over."""
        return self._plan.pop(0) if self._plan else "look"

    def _steps(self) -> Iterator[str]:
        goal, world = self._world.goal, self._world
        found = self._where(goal.thing)
        if goal.receptacle and goal.state is None:  # what lies there already counts
            found = [pair for pair in found if world.receptacles[pair[1]].kind != goal.receptacle] or found
        target = self._target(found)
        for thing, home in found[: goal.num_things]:
            name = world.things[thing].name
            yield from self._search(goal.thing, home)
            yield f"take {name} from {world.receptacles[home].name}"
            for verb, (_, kind, state, _) in APPLIANCES.items():
                if goal.state == state:
                    appliance = self._first(kind)
                    yield f"go to {appliance}"
                    yield f"{verb} {name} with {appliance}"
            if goal.lamp:
                lamp, desk = self._where(goal.lamp)[0]
                yield from self._search(goal.lamp, desk)
                yield f"use {world.things[lamp].name}"
            else:
                yield from self._reach(target)
                yield move_command(self._put).format(name, world.receptacles[target].name)

    def _search(self, kind: str, home: int) -> Iterator[str]:
        """Visit places where such a thing may be, and at last the one where it is."""
        world = self._world
        wrong = [
            number
            for number, receptacle in enumerate(world.receptacles)
            if kind in receptacle.holds
            and not any(world.things[one].kind == kind for one in world.inside[number])
        ]
        for number in self._rng.sample(wrong, min(self._rng.randint(0, NUM_WRONG), len(wrong))):
            yield from self._reach(number)
        yield from self._reach(home)

    def _reach(self, number: int) -> Iterator[str]:
        receptacle = self._world.receptacles[number]
        yield f"go to {receptacle.name}"
        if receptacle.openable and number not in self._opened:
            self._opened.add(number)
            yield f"open {receptacle.name}"

    def _where(self, kind: str) -> list[tuple[int, int]]:
        """Every thing of a type with the receptacle it is in, in an order drawn by seed."""
        world = self._world
        pairs = [
            (thing, number)
            for number, things in enumerate(world.inside)
            for thing in things
            if world.things[thing].kind == kind
        ]
        return self._rng.sample(pairs, len(pairs))

    def _target(self, found: list[tuple[int, int]]) -> int:
        """The receptacle to bring things to, or -1 where nothing is brought."""
        goal = self._world.goal
        numbers = [
            n for n, receptacle in enumerate(self._world.receptacles) if receptacle.kind == goal.receptacle
        ]
        return self._rng.choice(numbers) if numbers else -1

    def _first(self, kind: str) -> str:
        return next(receptacle.name for receptacle in self._world.receptacles if receptacle.kind == kind)


class RoutinePolicy:
    """Carries the first thing of each receptacle to the next one that takes it, whatever the task is."""

    def __init__(self) -> None:
        self._visited: set[str] = set()

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        actions: tuple[str, ...] = info["admissible_actions"]
        for verb in ("use", "heat", "cool", "clean"):
            action = next((one for one in actions if one.startswith(f"{verb} ")), None)
            if action is not None and action not in self._visited:
                self._visited.add(action)
                return action
        for verb in ("move", "put", "open", "take"):
            action = next((one for one in actions if one.startswith(f"{verb} ")), None)
            if action is not None and action.split(" from ")[0] not in self._visited:
                self._visited.add(action.split(" from ")[0])
                return action
        fresh = [one for one in actions if one.startswith("go to ") and one not in self._visited]
        if not fresh:
            self._visited = {one for one in self._visited if not one.startswith("go to ")}
            return next((one for one in actions if one.startswith("go to ")), "look")
        self._visited.add(fresh[0])
        return fresh[0]
