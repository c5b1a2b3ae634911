"""`molt/Geometry-v0`: find an angle, a length or an area from a figure, with a Python interpreter at hand.

In: calls of `python` and `answer` as JSON. Out: a picture first, then what the code printed; at the end,
whether the number is right. The answer never enters the sandbox.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from molt_envs.env import IMAGE_METADATA, AgentEnv, EnvCard, Task, Turn
from molt_envs.families.geometry.problems import SPLITS, Problem, priors, problem
from molt_envs.families.geometry.sketch import draw
from molt_envs.policy import FixedScript, Policy
from molt_envs.protocol.images import Observation, text_of
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import Tool, Toolbox, call_grammar, show, write_calls
from molt_envs.tools.python import python_tool
from molt_envs.tools.sandboxed import Workspace

SUMMARY = "Find an angle, a length or an area from the measures in a figure, with Python at hand"
SYSTEM_PROMPT = (
    "Look at the figure, and find what is asked for from the measures that are written in it. You may "
    "compute with the tool python, an interpreter that keeps its names from call to call. When you know the "
    "number, call answer once. Angles may be half a degree off, lengths and areas one percent."
)
GRAMMAR = call_grammar(ToolCall("python", {"code": "(3**2 + 4**2) ** 0.5"}))
LEAST_SIZE = 160


class GeometryEnv(AgentEnv):
    """One figure, ended by an answer. The picture is shown once, with the question.

    Args:
        backend: which sandboxes the code runs in.
        image_size: height and width of pictures in pixels, at least 160.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi`, `rgb_array` or None.

    Raises:
        SandboxUnavailable: the backend cannot hold untrusted code here; says why and how to mend it.
        ValueError: the picture is too small to be read.
    """

    metadata = IMAGE_METADATA

    def __init__(
        self,
        backend: str = "zygote",
        image_size: int = 224,
        max_turns: int = 8,
        render_mode: str | None = None,
    ) -> None:
        if image_size < LEAST_SIZE:
            raise ValueError(f"image_size {image_size}; figures can be read from {LEAST_SIZE} pixels on")
        self._workspace, self._image_size = Workspace(backend), image_size
        self._box = Toolbox([python_tool(self._workspace), Tool.of(self._answer, "answer", ends=True)])
        card = EnvCard(
            SUMMARY,
            SYSTEM_PROMPT,
            GRAMMAR,
            (0.0, 1.0),
            SPLITS,
            max_turns,
            "tool",
            self._box.schemas,
            image_size=(image_size, image_size),
        )
        super().__init__(card, render_mode)

    def _answer(self, value: float) -> str:
        """Give the answer, which ends the problem.

        Args:
            value: the number alone.
        """
        self._value = float(max(-1e12, min(1e12, value)))
        return "answered"

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._problem = problem(task.split, task.index)
        self._workspace.begin({})
        return self._problem.question.begin(draw(self._problem.figure, self._image_size, self._problem.look))

    def _act(self, action: str) -> Turn:
        results = self._box.run(action)
        if not results[-1].ended:
            return Turn(show(results))
        self._workspace.end()
        success = self._problem.question.accepts(self._value)
        return Turn(show(results), float(success), True, float(success), success)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy:
        """A policy that computes the answer in the sandbox; `noise`: how often it slips first."""
        return Solver(self._problem, f"{seed} {self.running_task().task_id}", noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; `blind` reads the text and says the likeliest number."""
        known, rng = priors(), random.Random(seed)
        guesses = {
            "random": rng.choice(known.questions).answer,
            "script": known.best_guess(),
            "blind": known.best_guess(self._problem.question.kind),
        }
        return super().baselines(seed) | {
            name: FixedScript([_call("answer", value=guess)]) for name, guess in guesses.items()
        }

    def close(self) -> None:
        """Remove the sandbox."""
        self._workspace.close()
        super().close()


class Solver:
    """Computes with what the figure shows, and answers what was printed.

    Args:
        problem: with its expression.
        seed: fixes the slips.
        noise: how likely it writes code that breaks off first.
    """

    def __init__(self, problem: Problem, seed: str, noise: float) -> None:
        code = problem.figure.expression
        slips = [f"{code} + ("] if random.Random(seed).random() < noise else []
        self._actions = [_call("python", code=one) for one in ("import math", *slips, code)]
        self._turn = 0

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The next action."""
        self._turn += 1
        if self._turn <= len(self._actions):
            return self._actions[self._turn - 1]
        try:
            return _call("answer", value=json.loads(text_of(observation)))
        except ValueError:
            return self._actions[-1]  # the result was not shown: compute it again


def _call(name: str, **arguments: object) -> str:
    return write_calls(ToolCall(name, arguments))
