"""Problems by name: a split and an index in, a figure with a question out.

The text names only what is asked for; all measures stand in the picture.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import lru_cache

from molt_envs.families.geometry.figures import HELD_OUT, TRAINED, Figure
from molt_envs.tools.questions import Priors, Question, split_of

SPLITS = {"train": 8000, "validation": 800, "test": 800}
TEXTS = {
    "angle": "How large is the angle x, in degrees?",
    "length": "How long is the line x?",
    "area": "How large is the area of the figure?",
}
DEGREES, SHARE = 0.5, 0.01
"""Tolerances: of angles in degrees, of lengths and areas as a share of the answer."""
NUM_KNOWN = 1000


@dataclass(frozen=True)
class Problem:
    """One task."""

    kind: str
    """Name of its template."""
    figure: Figure
    """What is drawn."""
    question: Question
    """What is asked."""
    look: int
    """Seed of how the figure is turned and drawn."""


def problem(split: str, index: int) -> Problem:
    """The problem; the same in every process."""
    rng = random.Random(f"{split}:{index}")
    templates = HELD_OUT if split == "test" else TRAINED
    template = templates[index % len(templates)]
    while True:
        figure = template(rng)
        part = split_of((figure.expression, figure.lengths, figure.angles))
        if split == "test" or (part == "validation") == (split == "validation"):
            break
    answer = compute(figure.expression)
    tolerance = DEGREES if figure.measure == "angle" else SHARE * answer
    question = Question(TEXTS[figure.measure], answer, figure.measure, tolerance)
    return Problem(template.__name__, figure, question, rng.getrandbits(32))


@lru_cache(maxsize=1)
def priors() -> Priors:
    """What the training tasks tell of the answers."""
    return Priors([problem("train", index).question for index in range(NUM_KNOWN)])


def compute(expression: str) -> float:
    """The value of an expression of our own templates."""
    return float(eval(expression, {"math": math}))
