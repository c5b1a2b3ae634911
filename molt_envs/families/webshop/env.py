"""`molt/WebShop-v0`: the shop as an environment of text pages.

In: `search[words]` and `click[name]`. Out: pages as their visible strings joined by ` [SEP] ` (or with marked
buttons, or as HTML), and on Buy Now the score of the purchase.
"""

import json
from pathlib import Path
from typing import Literal

import numpy as np

from molt_envs.env import ActionGrammar, AgentEnv, EnvCard, Task, Turn
from molt_envs.families.webshop.goals import GoalKind, goal_set
from molt_envs.families.webshop.loading import load_catalogue
from molt_envs.families.webshop.markup import View, html, rich_text
from molt_envs.families.webshop.oracle import RandomPolicy, ScriptPolicy, ShopOracle
from molt_envs.families.webshop.pages import SEP, Link, Page, item_page, page_of, results_page, sub_page
from molt_envs.families.webshop.reward import score_purchase
from molt_envs.policy import Policy

ObservationMode = Literal["text", "text_rich", "html"]
NUM_QUERY_CHARS = 500
SUMMARY = "Find and buy the product that an instruction asks for, in a shop of text pages"
SYSTEM_PROMPT = (
    "Find and buy the product that the instruction asks for, with its options and within its price. "
    "Each turn, write one action: search[words] or click[name]."
)
GRAMMAR = ActionGrammar(
    "search[words] on any page, or click[x], x being a button, a product id or an option of the page; "
    "click[group: option] where two groups have the same option",
    "click[Buy Now]",
    r"(?:search|click)\[[^\n]*\]",
)


class WebShopEnv(AgentEnv):
    """A shop in which one purchase ends the episode.

    Args:
        goals: `synthetic` or `human` instructions.
        data_dir: folder with the original's files; None for the package's own catalogue.
        products_file: name of the products file in it, if not a usual one.
        page_size: results on a page.
        max_turns: steps after which an episode is truncated.
        observation_mode: `text`, `text_rich` (buttons are marked) or `html`; pages and links are the same.
        render_mode: `ansi` or None.
    """

    def __init__(
        self,
        goals: GoalKind = "synthetic",
        data_dir: str | Path | None = None,
        products_file: str | None = None,
        page_size: int = 10,
        max_turns: int = 15,
        observation_mode: ObservationMode = "text",
        render_mode: str | None = None,
    ) -> None:
        if goals not in ("synthetic", "human"):
            raise ValueError(f"goals is {goals!r}; choose 'synthetic' or 'human'")
        if page_size < 1:
            raise ValueError(f"page_size is {page_size}; a page shows at least one result")
        if observation_mode not in ("text", "text_rich", "html"):
            raise ValueError(
                f"observation_mode is {observation_mode!r}; choose 'text', 'text_rich' or 'html'"
            )
        self._write = {"text": None, "text_rich": rich_text, "html": html}[observation_mode]
        self.catalogue = load_catalogue(data_dir, products_file)
        self.goals = goal_set(self.catalogue, goals)
        self._page_size = page_size
        splits = {name: len(numbers) for name, numbers in self.goals.splits.items()}
        card = EnvCard(SUMMARY, SYSTEM_PROMPT, GRAMMAR, (0.0, 1.0), splits, max_turns, bounded=True)
        super().__init__(card, render_mode)

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._goal = self.goals.get(int(self.goals.splits[task.split][task.index]))
        self._head = f"Instruction: [SEP] {self._goal.instruction[:4000]}{SEP}"
        search = (f"search[{self._goal.instruction}]",)
        self._start = Page("Search", {}, search, (("button", "Search", "search"),))
        self._seen: set[str] = set()
        self._query = ""
        self._follow(("search", 0))
        return self._turn_now()

    def _act(self, action: str) -> Turn:
        verb, _, argument = action.strip().partition("[")
        name = argument[:-1].strip().lower()
        if name and argument.endswith("]"):
            if verb == "search":
                self._query = name[:NUM_QUERY_CHARS]
                self._rows = self.catalogue.find(self._query)
                self._follow(("results", 1))
            elif verb == "click" and name in self._page.links:
                if name == "buy now":
                    return self._buy()
                self._follow(self._page.links[name])
        return self._turn_now()

    def oracle(self, seed: int = 0, noise: float = 0.0) -> ShopOracle:
        """A policy that buys what the running task asks for; `noise` leaves out option clicks."""
        self.running_task()
        return ShopOracle(self._goal, self.catalogue.product(self._goal.row), seed, noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; the script buys the first result of a search for the instruction."""
        return super().baselines(seed) | {"script": ScriptPolicy(), "random": RandomPolicy(seed)}

    def _follow(self, link: Link) -> None:
        """Show the page that a link leads to; an option only changes what is chosen."""
        kind, argument = link
        if isinstance(argument, tuple):
            *groups, value = argument
            # a bare value that several groups have goes to the first of them without a choice
            group = next((name for name in groups if name not in self._chosen), groups[0])
            self._chosen[group] = value
            return
        self._place = f"{kind} {argument}"
        if kind == "results":
            self._number = argument or self._number
            self._page = results_page(self.catalogue, self._rows, self._number, self._page_size)
        elif kind == "item":
            self._row, self._page = argument, item_page(self.catalogue, argument)
            self._seen.add(self.catalogue.card(argument).partition(" ")[0].lower())
        elif kind == "search":
            self._page = self._start
        else:
            self._page = sub_page(self.catalogue, argument, kind)
        if kind in ("results", "search"):
            self._chosen: dict[str, str] = {}

    def _buy(self) -> Turn:
        bought, wanted = self.catalogue.product(self._row), self.catalogue.product(self._goal.row)
        parts = score_purchase(bought, self._chosen.values(), self._goal, wanted)
        total = parts["total"]
        chosen = json.dumps(self._chosen, ensure_ascii=False)
        lines = ("Thank you for shopping with us!", "Purchased", "asin", bought.asin, "options", chosen)
        lines = (*lines, "Your score (min 0.0, max 1.0)", str(total))
        page = page_of([("text", line, "") for line in lines], {})
        text = self._write(page, View("", False, {}, ())) if self._write else page.text
        return Turn(text, total, True, total, total >= 1.0, (), "done", {"reward_parts": parts})

    def _turn_now(self) -> Turn:
        page, is_start = self._page, self._page is self._start
        if self._write:
            text = self._write(page, View(self._goal.instruction[:4000], is_start, self._chosen, self._seen))
        else:
            text = f"WebShop{SEP}{self._head}{page.text}" if is_start else self._head + page.text
        key = f"{self._place}|{self._query}|{self._chosen}"
        return Turn(text, admissible_actions=page.clicks, state_key=key)
