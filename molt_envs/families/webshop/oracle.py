"""Policies that play the shop: one that knows the goal, a fixed script, and a random one.

In: observations and admissible actions. Out: actions. What the oracle types and clicks can be read off the
observations, so that a model can imitate it; only the choice of the product uses the goal.
"""

import random
import re
from collections.abc import Iterator, Mapping
from html import unescape
from itertools import permutations
from typing import Any

from molt_envs.families.webshop.goals import Goal
from molt_envs.families.webshop.products import Product

_OPTIONS = re.compile(r" with (?:(?! with )[^,:])+: |, and (?:price lower than|[^,:]+: )")
_CONTROLS = ("click[back to search]", "click[< prev]", "click[next >]")


def instruction_of(observation: str) -> str:
    """The instruction of a page, in any observation mode."""
    if observation.startswith("<!DOCTYPE html>"):
        return unescape(observation.split('<p id="instruction">', 1)[1].split("</p>\n", 1)[0])
    if "Instruction:\n" in observation:
        return observation.split("Instruction:\n", 1)[1].split("\n[button] ", 1)[0]
    return observation.split("Instruction: [SEP] ", 1)[1].split(" [SEP] ", 1)[0]


def query_of(instruction: str) -> str:
    """The instruction without its opening, options and price: the words to search for."""
    words = _OPTIONS.split(instruction, maxsplit=1)[0].removeprefix("Find me ")
    return words.replace(", ", " ").replace(" with ", " ")


class ShopOracle:
    """Searches, finds the goal's product, chooses its options and buys it.

    Clicks are written as the page shows them.

    Args:
        goal: of the running task.
        product: which the goal was made from.
        seed: fixes which clicks are left out.
        noise: probability with which an option click is left out.
    """

    def __init__(self, goal: Goal, product: Product, seed: int = 0, noise: float = 0.0) -> None:
        self._product = product
        rng = random.Random(f"{seed} {goal.instruction}")
        self._plan = [click for click in _option_clicks(goal, product) if rng.random() >= noise] + [
            "click[Buy Now]"
        ]
        self._queries = [product.title, query_of(goal.instruction)]

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        actions = info["admissible_actions"]
        if "click[buy now]" in actions:
            return self._plan.pop(0)
        if f"click[{self._product.asin.lower()}]" in actions:
            return f"click[{self._product.asin}]"
        if "click[next >]" in actions:
            return "click[Next >]"
        return f"search[{self._queries.pop()}]" if self._queries else f"search[<q> {self._product.query}]"


def _option_clicks(goal: Goal, product: Product) -> Iterator[str]:
    """One click for each wanted option, named by its group only where the value alone is not enough."""
    groups = product.options
    wishes = [wish for wish in goal.options if any(wish in values for _, values in groups)]
    orders = permutations(groups, len(wishes))
    fits = (order for order in orders if all(wish in order[at][1] for at, wish in enumerate(wishes)))
    for wish, (name, _) in zip(wishes, next(fits, ()), strict=False):
        shared = sum(wish in values for _, values in groups) > 1
        yield f"click[{name}: {wish}]" if shared else f"click[{wish}]"


class ScriptPolicy:
    """Searches for the whole instruction and buys the first result."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        actions = info["admissible_actions"]
        if "click[buy now]" in actions:
            return "click[buy now]"
        if "click[back to search]" not in actions:
            return f"search[{instruction_of(observation)}]"
        return next((click for click in actions if click not in _CONTROLS), "click[back to search]")


class RandomPolicy:
    """Clicks anything, and searches for words of the instruction.

    Args:
        seed: fixes its choices.
    """

    def __init__(self, seed: int = 0) -> None:
        self._rng = random.Random(seed)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        words = instruction_of(observation).split()
        search = f"search[{' '.join(self._rng.sample(words, min(3, len(words))))}]"
        clicks = [action for action in info["admissible_actions"] if action.startswith("click[")]
        return self._rng.choice([search, *clicks])
