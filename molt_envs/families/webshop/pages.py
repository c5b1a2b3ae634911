"""The shop's pages: what is on them, as parts and as visible strings, and where their links lead.

In: a catalogue, rows, a page number. Out: `Page`s without the instruction, which is the episode's own.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from molt_envs.families.webshop.catalogue import Catalogue

SEP = " [SEP] "
MAX_CHARS = 60_000
Link = tuple[str, int | tuple[str, ...]]
Part = tuple[str, str, str]
"""A kind, the visible string, and the name that a click on it takes.

Kinds: `button`, `option` of the last `group`, `card` (id, title and price of a result), `title`, `text`.
"""


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
    parts: tuple[Part, ...]
    """What the strings are, in the same order, for other ways to show them."""


def page_of(parts: Iterable[Part], links: Mapping[str, Link], hidden: Container[str] = ()) -> Page:
    """A page of these parts; clicks on `hidden` names work, but are not listed."""
    clicks = tuple([f"click[{name}]" for name in links if name not in hidden])
    parts = tuple(parts)
    return Page(SEP.join([text for _, text, _ in parts])[:MAX_CHARS], links, clicks, parts)


def _button(name: str) -> Part:
    return "button", name, name.lower()


_BACK, _PREVIOUS, _NEXT = _button("Back to Search"), _button("< Prev"), _button("Next >")
_BELOW_AN_ITEM = tuple(_button(name) for name in ("Description", "Features", "Reviews", "Buy Now"))


def results_page(catalogue: Catalogue, rows: tuple[int, ...], number: int, page_size: int) -> Page:
    """Page `number` (from 1) of the results `rows`."""
    shown = rows[(number - 1) * page_size : number * page_size]
    parts: list[Part] = [_BACK, ("text", f"Page {number} (Total results: {len(rows)})", "")]
    links: dict[str, Link] = {"back to search": ("search", 0)}
    if number > 1:
        parts.append(_PREVIOUS)
        links["< prev"] = ("results", number - 1)
    if number * page_size < len(rows):
        parts.append(_NEXT)
        links["next >"] = ("results", number + 1)
    for row in shown:
        card = catalogue.card(row)
        name = card.partition(" ")[0].lower()
        parts.append(("card", card, name))
        links[name] = ("item", row)
    return page_of(parts, links)


@lru_cache(maxsize=4)
def item_page(catalogue: Catalogue, row: int) -> Page:
    """The page of a product; its `< Prev` leads to results page 0, which stands for the last one seen."""
    product = catalogue.product(row)
    links: dict[str, Link] = {"back to search": ("search", 0), "< prev": ("results", 0)}
    links |= {name: (name, row) for name in ("description", "features", "reviews")} | {
        "buy now": ("buy", row)
    }
    groups: dict[str, tuple[str, ...]] = {}
    for name, values in product.options:
        for value in dict.fromkeys(values):
            groups[value] = (*groups.get(value, ()), name)
            links[f"{name}: {value}"] = ("option", (name, value))
    hidden: set[str] = set()
    for value, names in groups.items():
        unique = len(names) == 1 and value not in links
        hidden |= {f"{names[0]}: {value}"} if unique else {value} - set(links)
        links.setdefault(value, ("option", (*names, value)))
    links["buy now"] = links.pop("buy now")
    parts: list[Part] = [_BACK, _PREVIOUS]
    for name, values in product.options:
        parts.append(("group", name, ""))
        full = ((value, f"{name}: {value}") for value in values)
        parts += [("option", value, value if long in hidden else long) for value, long in full]
    parts += [("title", product.title, ""), ("text", f"Price: {product.price_tag}", "")]
    parts += [("text", f"Rating: {product.rating}", ""), *_BELOW_AN_ITEM]
    return page_of(parts, links, hidden)


@lru_cache(maxsize=4)
def sub_page(catalogue: Catalogue, row: int, name: str) -> Page:
    """The description, features or reviews of a product."""
    product = catalogue.product(row)
    lines = {"description": (product.description,), "features": product.bullets, "reviews": product.reviews}
    links: dict[str, Link] = {"back to search": ("search", 0), "< prev": ("item", row)}
    return page_of([_BACK, _PREVIOUS, *[("text", line, "") for line in lines[name]]], links)
