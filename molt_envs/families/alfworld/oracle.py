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
VERBS = ("use", "heat", "cool", "clean", "move", "put", "open", "take", "go")
"""What the routine does, the most urgent first."""


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
        target = self._any(goal.receptacle) if goal.receptacle else -1
        for thing, home in found[: goal.num_things]:
            name = world.things[thing].name
            yield from self._search(goal.thing, home)
            yield f"take {name} from {world.receptacles[home].name}"
            for verb, (_, kind, state, _) in APPLIANCES.items():
                if goal.state == state:
                    appliance = world.receptacles[self._any(kind)].name
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

    def _any(self, kind: str) -> int:
        """One of the receptacles of a type."""
        return self._rng.choice([n for n, one in enumerate(self._world.receptacles) if one.kind == kind])


class RoutinePolicy:
    """Does whatever it has not yet done, in a fixed order of verbs, whatever the task is."""

    def __init__(self) -> None:
        self._done: set[str] = set()

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        fresh = [
            one for one in info["admissible_actions"] if one.split()[0] in VERBS and one not in self._done
        ]
        action = min(fresh, key=lambda one: VERBS.index(one.split()[0]), default="look")
        self._done.add(action)
        return action
