"""The shop's pages as visible strings, and where their links lead.

In: a catalogue, rows, a page number. Out: `Page`s without the instruction, which is the episode's own.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from molt_envs.families.webshop.catalogue import Catalogue

SEP = " [SEP] "
MAX_CHARS = 60_000
Link = tuple[str, int | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the shop."""

    text: str
    """Visible strings after the instruction."""
    links: Mapping[str, Link]
    """Lower-case name to a kind and its argument: `search`, `results` (number), `item`, a sub-page or `buy`
    (row), `option` (groups that have the value, then the value)."""
    clicks: tuple[str, ...]
    """One action for each thing that can be clicked."""


def _page(parts: Iterable[str], links: dict[str, Link], hidden: Container[str] = ()) -> Page:
    clicks = tuple([f"click[{name}]" for name in links if name not in hidden])
    return Page(SEP.join(parts)[:MAX_CHARS], links, clicks)


def results_page(catalogue: Catalogue, rows: tuple[int, ...], number: int, page_size: int) -> Page:
    """Page `number` (from 1) of the results `rows`."""
    shown = rows[(number - 1) * page_size : number * page_size]
    parts = ["Back to Search", f"Page {number} (Total results: {len(rows)})"]
    links: dict[str, Link] = {"back to search": ("search", 0)}
    if number > 1:
        parts.append("< Prev")
        links["< prev"] = ("results", number - 1)
    if number * page_size < len(rows):
        parts.append("Next >")
        links["next >"] = ("results", number + 1)
    for row in shown:
        card = catalogue.card(row)
        parts.append(card)
        links[card.partition(" ")[0].lower()] = ("item", row)
    return _page(parts, links)


@lru_cache(maxsize=4)
def item_page(catalogue: Catalogue, row: int) -> Page:
    """The page of a product; its `< Prev` leads to results page 0, which stands for the last one seen."""
    product = catalogue.product(row)
    parts = ["Back to Search", "< Prev"]
    links: dict[str, Link] = {"back to search": ("search", 0), "< prev": ("results", 0)}
    links |= {name: (name, row) for name in ("description", "features", "reviews")} | {
        "buy now": ("buy", row)
    }
    groups: dict[str, tuple[str, ...]] = {}
    for name, values in product.options:
        parts += [name, *values]
        for value in dict.fromkeys(values):
            groups[value] = (*groups.get(value, ()), name)
            links[f"{name}: {value}"] = ("option", (name, value))
    hidden: set[str] = set()
    for value, names in groups.items():
        unique = len(names) == 1 and value not in links
        hidden |= {f"{names[0]}: {value}"} if unique else {value} - set(links)
        links.setdefault(value, ("option", (*names, value)))
    links["buy now"] = links.pop("buy now")
    parts += [product.title, f"Price: {product.price_tag}", f"Rating: {product.rating}"]
    return _page([*parts, "Description", "Features", "Reviews", "Buy Now"], links, hidden)


@lru_cache(maxsize=4)
def sub_page(catalogue: Catalogue, row: int, name: str) -> Page:
    """The description, features or reviews of a product."""
    product = catalogue.product(row)
    lines = {"description": (product.description,), "features": product.bullets, "reviews": product.reviews}
    links: dict[str, Link] = {"back to search": ("search", 0), "< prev": ("item", row)}
    return _page(["Back to Search", "< Prev", *lines[name]], links)
