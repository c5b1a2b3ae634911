"""What is to be bought: instructions as numbered goals, and their splits.

In: a catalogue. Out: goals by split and index, made on demand; prices are drawn by seed, so a goal is the
same in every process.
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from molt_envs.errors import DataError
from molt_envs.families.webshop.catalogue import Catalogue
from molt_envs.families.webshop.products import Product

GoalKind = Literal["synthetic", "human"]
PRICE_STEPS = tuple(10.0 * step for step in range(1, 100))
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
        self._catalogue = catalogue
        self._kind: GoalKind = kind
        counts = catalogue.num_human if kind == "human" else catalogue.num_synthetic
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        if not len(self):
            raise DataError(f"the catalogue holds no {kind} instruction; choose other goals or add its file")

    def __len__(self) -> int:
        return int(self._starts[-1])

    def get(self, number: int) -> Goal:
        """The goal of a number, in the order of the products."""
        row = int(np.searchsorted(self._starts, number, side="right")) - 1
        position = number - int(self._starts[row])
        product = self._catalogue.product(row)
        price_upper = _price_limit(product, position if self._kind == "human" else 0)
        price = f", and price lower than {price_upper:.2f} dollars" if price_upper < NO_LIMIT else ""
        if self._kind == "human":
            human = product.humans[position]
            return Goal(row, human.text + price, human.attributes, human.options, price_upper)
        chosen = _combination(product, position)
        options = ", and ".join(f"{name}: {value}" for name, value in chosen)
        text = f"{product.instruction}{' with ' if options else ''}{options}{price}"
        return Goal(row, text, product.wanted, tuple(value for _, value in chosen), price_upper)

    @cached_property
    def splits(self) -> dict[str, np.ndarray]:
        """Split to numbers of its goals, shuffled as in the original; none share instruction and options."""
        order = list(range(len(self)))
        random.Random(SPLIT_SEED).shuffle(order)
        keys_G = np.fromiter(self._keys(), np.uint64, len(self))
        order_G = np.array(order)
        _, first = np.unique(keys_G[order_G], return_index=True)
        distinct = order_G[np.sort(first)]
        num_test, num_validation = (1000, 500) if self._catalogue.shipped else (500, 1000)
        edges = [num_test, num_test + num_validation]
        parts = zip(("test", "validation", "train"), np.split(distinct, edges), strict=True)
        return {name: part for name, part in parts if len(part)}

    def _keys(self) -> Iterator[int]:
        """Of each goal, a hash of its instruction without the price, and of its options."""
        for row in range(len(self._catalogue.rows)):
            product = self._catalogue.product(row)
            if self._kind == "human":
                for human in product.humans:
                    yield _key(human.text, human.options)
            elif product.instruction:
                groups = [values for _, values in sorted(product.options)]
                for values in itertools.product(*groups):
                    yield _key(product.instruction, values)


def _key(text: str, values: tuple[str, ...]) -> int:
    return zlib.crc32(text.encode()) << 32 | zlib.crc32("\n".join(values).encode())


@lru_cache(maxsize=4)
def goal_set(catalogue: Catalogue, kind: GoalKind) -> GoalSet:
    """The goals of a catalogue, made once per process."""
    return GoalSet(catalogue, kind)


def _combination(product: Product, position: int) -> list[tuple[str, str]]:
    """The option values of a combination; groups by name, the last one fastest, as `itertools.product`."""
    chosen: list[tuple[str, str]] = []
    for name, values in sorted(product.options, reverse=True):
        position, place = divmod(position, len(values))
        chosen.append((name, values[place]))
    return chosen[::-1]


def _price_limit(product: Product, draw: int) -> float:
    """The larger of two of the next four $10 steps above the price; `NO_LIMIT` above the last but one."""
    above = [step for step in PRICE_STEPS if step > product.price][:4]
    if len(above) < 2:
        return NO_LIMIT
    return max(random.Random(f"limit {product.asin} {draw}").sample(above, 2))
