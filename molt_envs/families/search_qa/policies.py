"""Policies for questions: one that knows the documents on the way, and one that follows the search alone.

In: observations, and for the oracle the question's chain. Out: actions.
"""

import random
import re
from collections.abc import Mapping
from typing import Any

from molt_envs.families.search_qa.questions import Question
from molt_envs.policy import FixedScript
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import write_calls


def act(tool: str, **arguments: Any) -> str:
    """An action of one call."""
    return write_calls(ToolCall(tool, arguments))


def oracle(question: Question, seed: int, noise: float) -> FixedScript:
    """Searches for each document by its title, reads it, and answers.

    Args:
        question: with its chain.
        seed: fixes what is left out.
        noise: probability with which a hop is left out; then the answer is the title at which it stopped.
    """
    rng = random.Random(f"{seed} {question.text}")
    plan: list[str] = []
    for title in question.chain:
        if rng.random() < noise:
            return FixedScript([*plan, act("answer", text=title)])
        plan += [act("search", query=title), act("read", title=title)]
    return FixedScript([*plan, act("answer", text=question.answers[0])])


class FollowSearch:
    """Searches for the question, then for the text it has read; answers with a word of the fitting kind."""

    def __init__(self) -> None:
        self._turn = 0
        self._seen: list[str] = []

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        self._turn += 1
        if self._turn == 1:
            self._question = observation
        if self._turn == 5:
            return act("answer", text=self._guess(observation))
        if self._turn % 2:
            return act("search", query=observation)
        titles = [line.split(": ")[0] for line in observation.splitlines()]
        title = next((title for title in titles if title not in self._seen), "")
        self._seen.append(title)
        return act("read", title=title)

    def _guess(self, document: str) -> str:
        pattern = r"[A-Z]\w+(?: [A-Z]\w+)*"
        for words, form in (
            ("year", r"\b\d{4}\b"),
            ("How many", r"\d[\d,]*"),
            ("currency", r"currency the (\w+)"),
        ):
            pattern = form if words in self._question else pattern
        return next(reversed(re.findall(pattern, document)), "")


def guess(titles: list[str], seed: int) -> FixedScript:
    """Reads anything, answers anything."""
    rng = random.Random(seed)
    first, second, last = rng.sample(titles, 3)
    return FixedScript([act("search", query=first), act("read", title=second), act("answer", text=last)])
