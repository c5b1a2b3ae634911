"""`molt/WebShop-v0`: the shop as an environment of text pages.

In: `search[words]` and `click[name]`. Out: pages as their visible strings joined by ` [SEP] `, and on Buy Now the
score of the purchase.
"""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import numpy as np

from molt_envs.env import ActionGrammar, AgentEnv, EnvCard, Task, Turn
from molt_envs.families.webshop.catalogue import Catalogue, load_catalogue
from molt_envs.families.webshop.goals import Goal, GoalKind, goal_set
from molt_envs.families.webshop.oracle import ShopOracle
from molt_envs.families.webshop.pages import SEP, SUB_PAGES, ItemPage, Page, Pages
from molt_envs.families.webshop.reward import score_purchase
from molt_envs.policy import Policy

NUM_RESULTS = 50
KEYWORD_MARKS = ("<a>", "<c>", "<q>")
SYSTEM_PROMPT = (
    "You are shopping on a web site. Find and buy the product that the instruction asks for, with the options it "
    "names and within its price. Search for products, open one, choose its options, and buy it. "
    "Each turn, give one action: search[words] or click[name of a button, product id or option]."
)
GRAMMAR = ActionGrammar(
    "search[words] on any page, or click[x], x being a button, a product id or an option of the page; "
    "click[group: option] where two groups have the same option",
    "click[buy now]",
    r"(?:search|click)\[[^\n]*\]",
)


class WebShopEnv(AgentEnv):
    """A shop in which one purchase ends the episode.

    Args:
        goals: `synthetic` or `human` instructions.
        data_dir: folder with the original's files; the package's own catalogue by default.
        products_file: products file, if not under a usual name in `data_dir`.
        attributes_file: attributes file, likewise.
        human_file: human instructions, likewise.
        page_size: results on a page.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi` or None.
    """

    def __init__(
        self,
        goals: GoalKind = "synthetic",
        data_dir: str | Path | None = None,
        products_file: str | Path | None = None,
        attributes_file: str | Path | None = None,
        human_file: str | Path | None = None,
        page_size: int = 10,
        max_turns: int = 15,
        render_mode: str | None = None,
    ) -> None:
        if goals not in ("synthetic", "human"):
            raise ValueError(f"goals is {goals!r}; choose 'synthetic' or 'human'")
        if page_size < 1:
            raise ValueError(f"page_size is {page_size}; a page shows at least one result")
        self.catalogue = load_catalogue(data_dir, products_file, attributes_file, human_file)
        self.goals = goal_set(self.catalogue, goals)
        self._pages = _pages(self.catalogue, page_size)
        card = EnvCard(
            summary="Find and buy the product that an instruction asks for, in a shop of text pages",
            system_prompt=SYSTEM_PROMPT,
            grammar=GRAMMAR,
            reward_range=(0.0, 1.0),
            splits={name: len(numbers) for name, numbers in self.goals.splits.items()},
            max_turns=max_turns,
            bounded=True,
        )
        super().__init__(card, render_mode)
        self.goal: Goal | None = None

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self.goal = self.goals.get(int(self.goals.splits[task.split][task.index]))
        self._head = f"Instruction: [SEP] {self.goal.instruction[:4000]}{SEP}"
        self._start = Page("Search", (f"search[{self.goal.instruction}]",))
        self._go_to_search()
        return self._turn_now()

    def _act(self, action: str) -> Turn:
        action = action.strip()
        argument = action[7:-1] if action.startswith("search[") else action[6:-1]
        if not action.endswith("]") or not argument.strip():
            return self._turn_now()
        if action.startswith("search["):
            self._search(argument.lower())
        elif action.startswith("click["):
            name = argument.lower().strip()
            if name == "buy now" and self._place == "item":
                return self._buy()
            self._click(name)
        return self._turn_now()

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy:
        """A policy that buys what the running task asks for; `noise` leaves out option clicks."""
        if self.goal is None:
            raise ValueError("oracle() needs a running task; call reset() first")
        return ShopOracle(self.goal, self.catalogue.product(self.goal.row), seed, noise)

    def _go_to_search(self) -> None:
        self._place, self._page = "search", self._start
        self._query, self._number = "", 1
        self._rows: tuple[int, ...] = ()
        self._row: int | None = None
        self._chosen: dict[str, str] = {}

    def _search(self, query: str) -> None:
        self._query = query[:500]
        self._rows = find(self.catalogue, query)
        self._show_results(1)

    def _show_results(self, number: int) -> None:
        self._row, self._chosen = None, {}
        self._number, self._place = number, "results"
        self._page = self._pages.results(self._rows, number)

    def _show_item(self, row: int) -> None:
        self._row, self._place = row, "item"
        self._page = self._pages.item(row)

    def _click(self, name: str) -> None:
        """Follow a button, a product or an option; anything that is not on the page does nothing."""
        if self._place == "search":
            return
        if name == "back to search":
            self._go_to_search()
        elif self._place == "results":
            self._click_result(name)
        elif self._row is None:
            return
        elif self._place != "item":
            if name == "< prev":
                self._show_item(self._row)
        elif name == "< prev":
            self._show_results(self._number)
        elif name in SUB_PAGES:
            self._place, self._page = name, self._pages.sub_page(self._row, name)
        else:
            self._choose_option(name, self._pages.item(self._row))

    def _click_result(self, name: str) -> None:
        if name == "next >" and self._number < self._pages.num_pages(self._rows):
            self._show_results(self._number + 1)
        elif name == "< prev" and self._number > 1:
            self._show_results(self._number - 1)
        elif f"click[{name}]" in self._page.clicks:
            row = self.catalogue.rows.get(name)
            if row is not None:
                self._show_item(row)

    def _choose_option(self, name: str, item: ItemPage) -> None:
        """Choose `group: value`, or a bare value in the first of its groups that has no choice yet."""
        choice = item.choices.get(name)
        if choice is None and name in item.groups:
            groups = item.groups[name]
            choice = next((group for group in groups if group not in self._chosen), groups[0]), name
        if choice is not None:
            self._chosen[choice[0]] = choice[1]

    def _buy(self) -> Turn:
        assert self.goal is not None and self._row is not None
        bought, wanted = self.catalogue.product(self._row), self.catalogue.product(self.goal.row)
        parts = score_purchase(bought, self._chosen.values(), self.goal, wanted)
        text = SEP.join(
            ("Thank you for shopping with us!", "Purchased", "asin", bought.asin, "options")
            + (
                json.dumps(self._chosen, ensure_ascii=False),
                "Your score (min 0.0, max 1.0)",
                str(parts.total),
            )
        )
        return Turn(
            text,
            reward=parts.total,
            terminated=True,
            score=parts.total,
            success=parts.total >= 1.0,
            admissible_actions=(),
            state_key="done",
            details={"reward_parts": asdict(parts)},
        )

    def _turn_now(self) -> Turn:
        place = f"{self._place}|{self._query}|{self._number}|{self._row}|{self._chosen}"
        head = f"WebShop{SEP}{self._head}" if self._place == "search" else self._head
        return Turn(head + self._page.text, admissible_actions=self._page.clicks, state_key=place)


@lru_cache(maxsize=8)
def _pages(catalogue: Catalogue, page_size: int) -> Pages:
    return Pages(catalogue, page_size)


@lru_cache(maxsize=256)
def find(catalogue: Catalogue, query: str) -> tuple[int, ...]:
    """Rows that a lower-case query finds: `<a>`, `<c>`, `<q>` list, `<r>` draws by the query, other words rank."""
    mark, _, rest = query.strip().partition(" ")
    if mark in KEYWORD_MARKS:
        return tuple(catalogue.keywords.get(f"{mark} {rest.strip()}", ()))
    if mark == "<r>":
        rows = range(len(catalogue))
        return tuple(random.Random(query).sample(rows, min(NUM_RESULTS, len(rows))))
    return catalogue.index.top(query, NUM_RESULTS)
