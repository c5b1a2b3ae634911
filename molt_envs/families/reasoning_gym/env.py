"""`molt/ReasoningGym-v0`: one question of a reasoning-gym data set, one answer, scored by the library.

In: an answer in text. Out: the library's score between 0 and 1.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from molt_envs.env import ActionGrammar, AgentEnv, EnvCard, Task, Turn
from molt_envs.extras import import_extra
from molt_envs.families.reasoning_gym.guard import may_be_scored
from molt_envs.policy import FixedScript, Policy

SUMMARY = "Questions of any reasoning-gym data set, one answer each, scored by the library"
SYSTEM_PROMPT = (
    "Answer the question. You may think first; then write the answer alone between <answer> and </answer>."
)
GRAMMAR = ActionGrammar(
    "the answer between <answer> and </answer>", "42", r"(?s)(?<=<answer>)(?:(?!<answer>).)*?(?=</answer>)"
)
SPLITS = {"train": 10_000, "validation": 1_000, "test": 1_000}
# What scorers raise on an answer of the wrong form; such an answer is wrong.
_MALFORMED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)


class ReasoningGymEnv(AgentEnv):
    """Single-turn questions.

    Args:
        dataset: a name in reasoning-gym, such as `leg_counting`.
        seed: of the data set; item `i` of a seed is the same in every process.
        options: further settings of the data set, such as `{"max_animals": 5}`.
        render_mode: `ansi` or None.

    Raises:
        ImportError: reasoning-gym is not installed.
        ValueError: no such data set, or a setting that it refuses.
    """

    def __init__(
        self,
        dataset: str = "leg_counting",
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
    ) -> None:
        factory = import_extra("reasoning_gym.factory", "reasoning-gym", "molt/ReasoningGym-v0")
        if dataset not in factory.DATASETS:
            raise ValueError(
                f"dataset is {dataset!r}; reasoning-gym has {', '.join(sorted(factory.DATASETS))}"
            )
        try:
            self._items = factory.create_dataset(
                dataset, seed=seed, size=sum(SPLITS.values()), **dict(options or {})
            )
        except (AssertionError, TypeError) as error:
            raise ValueError(
                f"reasoning-gym refuses {dataset} with {dict(options or {})}: {error}"
            ) from error
        card = EnvCard(SUMMARY, SYSTEM_PROMPT, GRAMMAR, (0.0, 1.0), SPLITS, max_turns=1)
        super().__init__(card, render_mode)
        self.dataset = dataset

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        names = list(SPLITS)
        start = sum(SPLITS[name] for name in names[: names.index(task.split)])
        self._item: dict[str, Any] = self._items[start + task.index]
        return Turn(str(self._item["question"]))

    def _act(self, action: str) -> Turn:
        score = self._score(action.strip())
        words = "correct" if score >= 1 else f"scored {score:g}"
        return Turn(f"The answer is {words}.", score, terminated=True, score=score, success=score >= 1)

    def _score(self, answer: str) -> float:
        # An item of a composite data set names the one that it is from.
        source = str(self._item["metadata"].get("source_dataset", self.dataset))
        if not (may_be_scored(self.dataset, answer) and may_be_scored(source, answer)):
            return 0.0
        try:
            score = float(self._items.score_answer(answer, self._item))
        except _MALFORMED:
            return 0.0
        return min(1.0, max(0.0, score))

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy | None:
        """Writes the item's own answer; None where the library ships none. `noise` leaves it out."""
        self.running_task()
        answer = self._item["answer"]
        if not isinstance(answer, str) or self._score(answer) < 1:
            return None
        return FixedScript(["" if random.Random(seed).random() < noise else answer])

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; a number by chance, and the same one for every question."""
        number = random.Random(seed).randint(0, 100)
        return super().baselines(seed) | {"random": FixedScript([str(number)]), "script": FixedScript(["1"])}
