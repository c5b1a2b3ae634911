"""Policies: one that computes the answer, and two without skill.

In: the problem with its solution, or what the environment shows. Out: actions.
"""

import json
import random
import re
from collections.abc import Mapping
from typing import Any

from molt_envs.families.python_tool.problems import Problem
from molt_envs.policy import FixedScript
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import write_calls


class Solver:
    """Defines the function that solves a problem, calls it, and answers what it printed.

    Args:
        problem: with its solution.
        seed: fixes the slips.
        noise: share of its steps before which it makes a mistake that it sees and corrects.
    """

    def __init__(self, problem: Problem, seed: str, noise: float) -> None:
        rng = random.Random(seed)
        looks = [f"print(open({name!r}).read()[:400])" for name in problem.tables]
        self._actions: list[str] = []
        for code in (*looks, problem.program, problem.call):
            if rng.random() < noise:
                self._actions.append(_slip(code, rng))
            self._actions.append(run(code))
        self._turn = 0

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        self._turn += 1
        if self._turn <= len(self._actions):
            return self._actions[self._turn - 1]
        try:
            return answer(json.loads(observation))
        except ValueError:
            return self._actions[-1]  # the result was not shown: compute it again


class FirstGuess:
    """Has all numbers of the question added up, and answers that."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        if info["turn"] == 0:
            numbers = re.findall(r"\d+", observation.partition("\n")[0])
            return run(f"sum({[int(number) for number in numbers]})")
        return answer(int(observation) if observation.strip().isdigit() else 0)


def random_answers(seed: int) -> FixedScript:
    """A number out of the hat."""
    return FixedScript([answer(random.Random(seed).randrange(3, 1000))])


def run(code: str) -> str:
    """The action that runs code."""
    return write_calls(ToolCall("python", {"code": code}))


def answer(value: float) -> str:
    """The action that answers."""
    return write_calls(ToolCall("answer", {"value": value}))


def _slip(code: str, rng: random.Random) -> str:
    """A mistake at a step: code that breaks off, a wrong argument or a wrong tool."""
    wrong = [ToolCall("python", {"text": code}), ToolCall("run", {"code": code})]
    return rng.choice([run(code[: len(code) // 2] + "("), *map(write_calls, wrong)])
