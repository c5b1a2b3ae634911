"""Questions about a picture, answered once by a number.

In: what is asked, what is shown, the true number and its tolerance; then the agent's action. Out: `Turn`s,
the guess that is best without the picture, and the split that a question belongs to.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from molt_envs.env import ActionGrammar, Turn
from molt_envs.policy import FixedScript, Policy
from molt_envs.protocol.images import Pixels

NUMBER_GRAMMAR = ActionGrammar("a number alone", "5", r"-?\d+(?:\.\d+)?")
SPLIT_SHARES = {"test": 0.15, "validation": 0.15, "train": 0.7}
NOT_A_NUMBER = "That is not a number. Write the number alone."
_NUMBER = re.compile(r"\s*(-?\d{1,12}(?:\.\d{1,12})?)\s*", re.ASCII)


@dataclass(frozen=True)
class Question:
    """One question, without its picture."""

    text: str
    """What is asked; it does not tell the answer."""
    answer: float
    """The true number, never shown."""
    kind: str
    """Which kind of question it is; its text tells that too."""
    tolerance: float = 0.0
    """How far from it an answer may be."""

    def accepts(self, value: float) -> bool:
        """Whether a number answers it."""
        return abs(value - self.answer) <= self.tolerance + 1e-9

    def begin(self, image: Pixels) -> Turn:
        """The first turn."""
        return Turn(self.text, image=image)

    def act(self, action: str) -> Turn:
        """What an answer earns: 1 or 0, which ends the episode; what is no number only costs the turn."""
        value = read_number(action)
        if value is None:
            return Turn(NOT_A_NUMBER)
        success = self.accepts(value)
        return Turn("Right." if success else "Wrong.", float(success), True, float(success), success)


def read_number(action: str) -> float | None:
    """The number that an action is; None if it is anything else."""
    found = _NUMBER.fullmatch(action[:64])
    return float(found[1]) if found and len(action) <= 64 else None


def write_number(value: float) -> str:
    """A number as an action, with at most two digits after the point."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Priors:
    """What is known of the answers before a picture is seen."""

    questions: Sequence[Question]
    """A sample of the training tasks."""
    _known: dict[str, float] = field(default_factory=dict[str, float], init=False, repr=False, compare=False)

    def best_guess(self, kind: str = "") -> float:
        """The number that answers most questions of a kind, or of all kinds."""
        if kind not in self._known:
            asked = [one for one in self.questions if kind in ("", one.kind)] or self.questions
            values = sorted({one.answer for one in asked})
            self._known[kind] = max(values, key=lambda value: sum(one.accepts(value) for one in asked))
        return self._known[kind]

    def baselines(self, question: Question, seed: int) -> dict[str, Policy]:
        """`blind` knows the text and all that training tasks tell, `script` only the latter; and `random`."""
        drawn = random.Random(seed).choice(self.questions).answer
        return {
            "nothing": FixedScript([""]),
            "random": FixedScript([write_number(drawn)]),
            "script": FixedScript([write_number(self.best_guess())]),
            "blind": FixedScript([write_number(self.best_guess(question.kind))]),
        }


def answering(question: Question, seed: str, noise: float) -> FixedScript:
    """The oracle: the right number, after words that are none with a probability of `noise`."""
    slips = ["I see it."] if random.Random(seed).random() < noise else []
    return FixedScript([*slips, write_number(question.answer)])


def split_of(parts: Iterable[object]) -> str:
    """The split that all that a task is made of belongs to, by its hash: so no task is in two splits."""
    key = repr(tuple(parts)).encode()
    place = int.from_bytes(hashlib.sha256(key).digest()[:6], "big") / 2**48
    for split, share in SPLIT_SHARES.items():
        place -= share
        if place < 0:
            return split
    return "train"
