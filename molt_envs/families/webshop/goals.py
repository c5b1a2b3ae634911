"""What is to be bought: instructions as numbered goals, and their splits.

In: a catalogue. Out: goals by number, made on demand and the same in every process:
prices are drawn by seed.
"""

import itertools
import random
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from molt_envs.errors import DataError
from molt_envs.families.webshop.catalogue import Catalogue
from molt_envs.families.webshop.products import Product

GoalKind = Literal["synthetic", "human"]
NO_LIMIT = 1_000_000.0
SPLIT_SEED = 233


@dataclass(frozen=True, slots=True)
class Goal:
    """One thing to buy."""

    row: int
    """The product that it was made from."""
    instruction: str
    """What the policy reads."""
    attributes: tuple[str, ...]
    """Wanted attributes."""
    options: tuple[str, ...]
    """Wanted option values."""
    price_upper: float
    """Highest price in dollars."""


class GoalSet:
    """All goals of one kind.

    Args:
        catalogue: whose products they are about.
        kind: `synthetic` (instruction times all combinations of options) or `human`.

    Raises:
        DataError: the catalogue has no goal of that kind.
    """

    def __init__(self, catalogue: Catalogue, kind: GoalKind) -> None:
        self._catalogue, self._human = catalogue, kind == "human"
        self._kind: GoalKind = kind
        self._starts = catalogue.shelves.goal_starts[kind]
        if not len(self):
            raise DataError(f"the catalogue holds no {kind} instruction; choose other goals or add its file")

    def __len__(self) -> int:
        return int(self._starts[-1])

    def get(self, number: int) -> Goal:
        """The goal of a number, in the order of the products."""
        row = int(np.searchsorted(self._starts, number, side="right")) - 1
        position = number - int(self._starts[row])
        product = self._catalogue.product(row)
        price_upper = _price_limit(product, position if self._human else 0)
        price = f", and price lower than {price_upper:.2f} dollars" if price_upper < NO_LIMIT else ""
        if self._human:
            text, attributes, options = product.humans[position]
        else:
            text, attributes, groups = product.instruction, product.wanted, sorted(product.options)
            options = next(itertools.islice(_combinations(product), position, None))
            named = [f"{name}: {value}" for (name, _), value in zip(groups, options, strict=True)]
            text += " with " * bool(named) + ", and ".join(named)
        return Goal(row, text + price, attributes, options, price_upper)

    @cached_property
    def splits(self) -> dict[str, np.ndarray]:
        """Split to goal numbers, shuffled as in the original; no two have equal instruction and options."""
        known = self._catalogue.shelves.splits.get(self._kind)
        if known is not None:
            return dict(known)
        products = map(self._catalogue.product, range(self._catalogue.num_products))
        keys = (key for product in products for key in goal_keys(product, self._kind))
        return split_goals(np.fromiter(keys, np.uint64, len(self)), self._catalogue.shipped)


def goal_keys(product: Product, kind: GoalKind) -> Iterator[int]:
    """Of each goal of a product, a hash of its instruction without the price, and of its options."""
    if kind == "human":
        yield from (_key(text, options) for text, _, options in product.humans)
    elif product.instruction:
        yield from (_key(product.instruction, options) for options in _combinations(product))


def split_goals(key_G: np.ndarray, shipped: bool = False) -> dict[str, np.ndarray]:
    """Split to numbers of goals: shuffled as in the original, and of those with equal keys only the first."""
    order = array("q", range(len(key_G)))
    random.Random(SPLIT_SEED).shuffle(order)
    order_G = np.array(order)
    _, first = np.unique(key_G[order_G], return_index=True)
    parts = np.split(order_G[np.sort(first)], [1000, 1500] if shipped else [500, 1500])
    named = zip(("test", "validation", "train"), parts, strict=True)
    return {name: part for name, part in named if part.size}


@lru_cache(maxsize=4)
def goal_set(catalogue: Catalogue, kind: GoalKind) -> GoalSet:
    """The goals of a catalogue, made once per process."""
    return GoalSet(catalogue, kind)


def _key(text: str, options: tuple[str, ...]) -> int:
    return zlib.crc32(text.encode()) << 32 | zlib.crc32("\n".join(options).encode())


def _combinations(product: Product) -> Iterator[tuple[str, ...]]:
    """All choices of one value from each option group, groups by name."""
    return itertools.product(*(values for _, values in sorted(product.options)))


def _price_limit(product: Product, draw: int) -> float:
    """The larger of two of the next four $10 steps above the price; `NO_LIMIT` above the last but one."""
    above = [10.0 * step for step in range(1, 100) if 10.0 * step > product.price][:4]
    rng = random.Random(f"limit {product.asin} {draw}")
    return max(rng.sample(above, 2)) if len(above) > 1 else NO_LIMIT
