"""The products of a shop by row, and the search over them.

In: products, or what `disk_index` opens. Out: a `Catalogue`, which holds everything in a few large objects
(strings of records, arrays, the index), so that forked workers share its pages.
"""

import pickle
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from mmap import mmap

import numpy as np

from molt_envs.families.webshop.products import Product
from molt_envs.tools.text_search import TextSearch

NUM_RESULTS = 50
Splits = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Shelves:
    """What a catalogue is made of, in memory or in files; N products."""

    num_products: int
    """N."""
    cards: bytes | mmap
    """What the results page shows of each product, joined."""
    card_ends: np.ndarray
    """int64, N + 1: where each ends; 0 first."""
    read: Callable[[int], Product]
    """The product of a row."""
    keywords: Callable[[str], Sequence[int]]
    """Rows that have an attribute (`<a> …`), a category (`<c> …`) or a fine category (`<q> …`)."""
    index: TextSearch
    """Over the texts of all products."""
    splits: Mapping[str, Splits]
    """Kind of goals to split to numbers of goals, where they are known already."""
    goal_starts: Mapping[str, np.ndarray]
    """Kind of goals (`synthetic`, `human`) to int64, N + 1: the number of each product's first goal."""


class Catalogue:
    """All products, by row.

    Args:
        shelves: what it is made of.
        shipped: whether these are the package's own products.
    """

    def __init__(self, shelves: Shelves, shipped: bool = False) -> None:
        self.shelves, self.shipped, self.num_products = shelves, shipped, shelves.num_products
        self._cards, self._card_ends = shelves.cards, shelves.card_ends

    def card(self, row: int) -> str:
        """What the results page shows of a product."""
        return self._cards[self._card_ends[row] : self._card_ends[row + 1]].decode()

    @lru_cache(maxsize=4)  # noqa: B019 - a catalogue lives as long as its process
    def product(self, row: int) -> Product:
        """The product of a row."""
        return self.shelves.read(row)

    @lru_cache(maxsize=8)  # noqa: B019 - a catalogue lives as long as its process
    def find(self, query: str) -> tuple[int, ...]:
        """Rows that a query finds: `<a>`, `<c>`, `<q>` list, `<r>` draws by the query, other words rank."""
        mark, _, rest = query.strip().lower().partition(" ")
        if mark in ("<a>", "<c>", "<q>"):
            return tuple(self.shelves.keywords(f"{mark} {rest.strip()}"))
        if mark == "<r>":
            num_drawn = min(NUM_RESULTS, self.num_products)
            return tuple(random.Random(query).sample(range(self.num_products), num_drawn))
        return self.shelves.index.top(query, NUM_RESULTS)


def card_of(product: Product) -> str:
    """What the results page shows of a product."""
    return f"{product.asin} [SEP] {product.title} [SEP] {product.price_tag}"


def text_of(product: Product) -> str:
    """What a product is found by."""
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options)
    return " ".join([product.title, product.description, *product.bullets[:1], options])


def keywords_of(product: Product) -> list[str]:
    """Under which marked words a product is listed."""
    marked = [
        "<c> " + product.category,
        "<q> " + product.query,
        *("<a> " + each for each in product.attributes),
    ]
    return list(dict.fromkeys(map(str.lower, marked)))


def in_memory(products: Iterable[Product]) -> Shelves:
    """All that a catalogue is made of, from products in the order of their rows."""
    keywords: dict[str, list[int]] = {}
    records, cards, texts, counts = list[bytes](), list[bytes](), list[str](), [(0, 0)]
    for row, product in enumerate(products):
        for key in keywords_of(product):
            keywords.setdefault(key, []).append(row)
        records.append(pickle.dumps(product))
        cards.append(card_of(product).encode())
        texts.append(text_of(product))
        counts.append((product.num_synthetic, len(product.humans)))
    joined, record_ends = b"".join(records), np.cumsum([0, *map(len, records)])
    synthetic, human = np.cumsum(np.array(counts, np.int64), axis=0).T

    def read(row: int) -> Product:
        return pickle.loads(joined[record_ends[row] : record_ends[row + 1]])

    return Shelves(
        num_products=len(records),
        cards=b"".join(cards),
        card_ends=np.cumsum([0, *map(len, cards)]),
        read=read,
        keywords=lambda key: keywords.get(key, ()),
        index=TextSearch(texts),
        splits={},
        goal_starts={"synthetic": synthetic, "human": human},
    )
