"""Products of a shop, read from files in WebShop's own format and checked.

In: the products, attributes and human-instruction files. Out: a `Catalogue`, which holds everything in a few large
objects (one string of records, arrays, the index), so that forked workers share its pages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from molt_envs.errors import DataError
from molt_envs.families.webshop.language import DATA
from molt_envs.families.webshop.products import HumanInstruction, Product, Reader, read_products
from molt_envs.families.webshop.search import SearchIndex

PRODUCT_NAMES = ("products.json", "items_shuffle.json", "items_shuffle_1000.json")
ATTRIBUTE_NAMES = ("attributes.json", "items_ins_v2.json", "items_ins_v2_1000.json")
HUMAN_NAMES = ("human.json", "items_human_ins.json")


class Catalogue:
    """All products, by row.

    Args:
        products: in the order of their rows.
        shipped: whether these are the package's own.
    """

    def __init__(self, products: Iterator[Product], shipped: bool) -> None:
        self.shipped = shipped
        self.rows: dict[str, int] = {}
        self.keywords: dict[str, list[int]] = {}
        records: list[str] = []
        cards: list[str] = []
        texts: list[str] = []
        combinations: list[int] = []
        humans: list[int] = []
        for row, product in enumerate(products):
            self.rows[product.asin.lower()] = row
            named = (("<c>", product.category), ("<q>", product.query))
            for mark, value in (*named, *(("<a>", attribute) for attribute in product.attributes)):
                self.keywords.setdefault(f"{mark} {value.lower()}", []).append(row)
            records.append(json.dumps([_plain(product, item.name) for item in fields(Product)]))
            cards.append(f"{product.asin} [SEP] {product.title} [SEP] {product.price_tag}")
            texts.append(_indexed_text(product))
            num_values = (len(values) for _, values in product.options)
            combinations.append(math.prod(num_values) if product.instruction is not None else 0)
            humans.append(len(product.humans))
        self._records, self._record_ends = "".join(records), _ends(records)
        self._cards, self._card_ends = "".join(cards), _ends(cards)
        self.num_combinations = np.array(combinations, np.int64)
        self.num_humans = np.array(humans, np.int64)
        self.index = SearchIndex(texts)

    def __len__(self) -> int:
        return len(self.rows)

    def card(self, row: int) -> str:
        """What the results page shows of a product."""
        return self._cards[self._card_ends[row] : self._card_ends[row + 1]]

    @lru_cache(maxsize=64)  # noqa: B019 - a catalogue lives as long as its process
    def product(self, row: int) -> Product:
        """The product of a row."""
        values = json.loads(self._records[self._record_ends[row] : self._record_ends[row + 1]])
        named = dict(zip((item.name for item in fields(Product)), map(_frozen, values), strict=True))
        named["nouns"] = frozenset(named["nouns"])
        named["humans"] = tuple(HumanInstruction(*human) for human in named["humans"])
        return Product(**named)


def _plain(product: Product, name: str) -> object:
    if name == "nouns":
        return sorted(product.nouns)
    if name == "humans":
        return [(human.text, human.attributes, human.options) for human in product.humans]
    return cast(object, product.__getattribute__(name))


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in cast(list[Any], value)) if isinstance(value, list) else value


def _ends(parts: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


def _indexed_text(product: Product) -> str:
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options)
    return " ".join([product.title, product.description, *product.bullets[:1], options])


def load_catalogue(
    data_dir: str | Path | None = None,
    products_file: str | Path | None = None,
    attributes_file: str | Path | None = None,
    human_file: str | Path | None = None,
) -> Catalogue:
    """The catalogue of these files, read once per process.

    Args:
        data_dir: a folder with the original's files; the package's own catalogue by default.
        products_file: the products, if not under one of the usual names in `data_dir`.
        attributes_file: attributes and synthetic instructions, likewise.
        human_file: human instructions, likewise; may be absent.

    Raises:
        DataError: a file is missing or wrong; the message names file, record and field.
    """
    given = (products_file, attributes_file, human_file)
    folder = Path(data_dir) if data_dir is not None else DATA
    if data_dir is None and any(given):
        folder = Path(next(path for path in given if path)).parent
    names = (PRODUCT_NAMES, ATTRIBUTE_NAMES, HUMAN_NAMES)
    paths = [Path(path) if path else _found(folder, name) for path, name in zip(given, names, strict=True)]
    for path, name, what in zip(paths, names[:2], ("products", "attributes"), strict=False):
        if path is None:
            raise DataError(f"no {what} file in {folder}: looked for {', '.join(name)}; see data_dir")
    return _load(*(str(path) if path else None for path in paths))


def _found(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


@lru_cache(maxsize=4)
def _load(products_file: str | None, attributes_file: str | None, human_file: str | None) -> Catalogue:
    assert products_file is not None and attributes_file is not None
    attributes = Reader(attributes_file, dict)
    human = Reader(human_file, dict) if human_file is not None else None
    products = Reader(products_file, list)
    catalogue = Catalogue(read_products(products, attributes, human), Path(products_file).parent == DATA)
    if not len(catalogue):
        raise DataError(f"{products_file} holds no product")
    return catalogue
