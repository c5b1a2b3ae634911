"""The shop's pages as visible strings, and what can be clicked on them.

In: a catalogue, rows, a page number. Out: `Page`s without the instruction, which is the episode's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from molt_envs.families.webshop.catalogue import Catalogue
from molt_envs.families.webshop.products import Product

SEP = " [SEP] "
BACK, NEXT, PREV, BUY = "Back to Search", "Next >", "< Prev", "Buy Now"
SUB_PAGES = ("description", "features", "reviews")
MAX_CHARS = 60_000
SUB_PAGE_CLICKS = ("click[back to search]", "click[< prev]")


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the shop."""

    text: str
    """Visible strings after the instruction."""
    clicks: tuple[str, ...]
    """Actions that do something here."""


@dataclass(frozen=True, slots=True)
class ItemPage(Page):
    """A product's page."""

    choices: dict[str, tuple[str, str]]
    """`group: value` to the option that it chooses."""
    groups: dict[str, tuple[str, ...]]
    """Value to the groups that have it, in page order."""


class Pages:
    """Renders the pages of one catalogue and keeps the recent ones.

    Args:
        catalogue: the products.
        page_size: results on a page.
    """

    def __init__(self, catalogue: Catalogue, page_size: int) -> None:
        self._catalogue = catalogue
        self._page_size = page_size
        self._asins = tuple(catalogue.rows)

    def num_pages(self, rows: tuple[int, ...]) -> int:
        """Pages of a result."""
        return -(-len(rows) // self._page_size)

    def results(self, rows: tuple[int, ...], number: int) -> Page:
        """Page `number` (from 1) of the results `rows`."""
        shown = rows[(number - 1) * self._page_size : number * self._page_size]
        parts = [BACK, f"Page {number} (Total results: {len(rows)})"]
        clicks = ["click[back to search]"]
        if number > 1:
            parts.append(PREV)
            clicks.append("click[< prev]")
        if number < self.num_pages(rows):
            parts.append(NEXT)
            clicks.append("click[next >]")
        parts.extend([self._catalogue.card(row) for row in shown])
        clicks.extend([f"click[{self._asins[row]}]" for row in shown])
        return Page(SEP.join(parts)[:MAX_CHARS], tuple(clicks))

    @lru_cache(maxsize=64)  # noqa: B019 - the pages live as long as their environment
    def item(self, row: int) -> ItemPage:
        """The page of a product."""
        product = self._catalogue.product(row)
        parts = [BACK, PREV]
        choices: dict[str, tuple[str, str]] = {}
        groups: dict[str, tuple[str, ...]] = {}
        for name, values in product.options:
            parts += [name, *values]
            for value in dict.fromkeys(values):
                choices[f"{name}: {value}"] = (name, value)
                groups[value] = (*groups.get(value, ()), name)
        parts += [product.title, f"Price: {product.price_tag}", f"Rating: {product.rating}"]
        parts += ["Description", "Features", "Reviews", BUY]
        fixed = tuple(f"click[{name.lower()}]" for name in (BACK, PREV, *SUB_PAGES))
        plain = {name.lower() for name in (BACK, PREV, BUY, *SUB_PAGES)} | set(choices)
        options = (
            f"click[{value}]" if len(groups[value]) == 1 and value not in plain else f"click[{name}: {value}]"
            for name, value in choices.values()
        )
        return ItemPage(SEP.join(parts)[:MAX_CHARS], (*fixed, *options, "click[buy now]"), choices, groups)

    def sub_page(self, row: int, name: str) -> Page:
        """The description, features or reviews of a product."""
        lines = _lines(self._catalogue.product(row), name)
        return Page(SEP.join([BACK, PREV, *lines])[:MAX_CHARS], SUB_PAGE_CLICKS)


def _lines(product: Product, name: str) -> tuple[str, ...]:
    if name == "description":
        return (product.description,)
    return product.bullets if name == "features" else product.reviews
