"""The products of a shop by row, and the search over them.

In: a folder of files in WebShop's own format. Out: a `Catalogue`, which holds everything in a few large
objects (strings of records, arrays, the index), so that forked workers share its pages.
"""

import math
import pickle
import random
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np

from molt_envs.errors import DataError
from molt_envs.families.webshop.language import DATA
from molt_envs.families.webshop.products import Product, read_products
from molt_envs.tools.text_search import TextSearch

FILE_NAMES = {
    "products": ("products.json", "items_shuffle.json", "items_shuffle_1000.json"),
    "attributes": ("attributes.json", "items_ins_v2.json", "items_ins_v2_1000.json"),
    "human instructions": ("human.json", "items_human_ins.json"),
}
NUM_RESULTS = 50


class Catalogue:
    """All products, by row.

    Args:
        products: in the order of their rows.
        shipped: whether these are the package's own.
    """

    def __init__(self, products: Iterable[Product], shipped: bool) -> None:
        self.shipped = shipped
        self.rows: dict[str, int] = {}
        self._keywords: dict[str, list[int]] = {}
        records, cards, texts, counts = list[bytes](), list[str](), list[str](), list[tuple[int, int]]()
        for row, product in enumerate(products):
            self.rows[product.asin.lower()] = row
            marks = ["<c> " + product.category, "<q> " + product.query]
            for key in marks + ["<a> " + attribute for attribute in product.attributes]:
                self._keywords.setdefault(key.lower(), []).append(row)
            records.append(pickle.dumps(product))
            cards.append(f"{product.asin} [SEP] {product.title} [SEP] {product.price_tag}")
            options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options)
            texts.append(" ".join([product.title, product.description, *product.bullets[:1], options]))
            num_combinations = math.prod(len(values) for _, values in product.options)
            counts.append((num_combinations if product.instruction else 0, len(product.humans)))
        self.num_synthetic, self.num_human = np.array(counts, np.int64).reshape(-1, 2).T
        self._records, self._record_ends = b"".join(records), np.cumsum([0, *map(len, records)])
        self._cards, self._card_ends = "".join(cards), np.cumsum([0, *map(len, cards)])
        self._index = TextSearch(texts)

    def card(self, row: int) -> str:
        """What the results page shows of a product."""
        return self._cards[self._card_ends[row] : self._card_ends[row + 1]]

    @lru_cache(maxsize=4)  # noqa: B019 - a catalogue lives as long as its process
    def product(self, row: int) -> Product:
        """The product of a row."""
        return pickle.loads(self._records[self._record_ends[row] : self._record_ends[row + 1]])

    @lru_cache(maxsize=8)  # noqa: B019 - a catalogue lives as long as its process
    def find(self, query: str) -> tuple[int, ...]:
        """Rows that a query finds: `<a>`, `<c>`, `<q>` list, `<r>` draws by the query, other words rank."""
        mark, _, rest = query.strip().lower().partition(" ")
        if mark in ("<a>", "<c>", "<q>"):
            return tuple(self._keywords.get(f"{mark} {rest.strip()}", ()))
        if mark == "<r>":
            return tuple(random.Random(query).sample(range(len(self.rows)), min(NUM_RESULTS, len(self.rows))))
        return self._index.top(query, NUM_RESULTS)


def load_catalogue(data_dir: str | Path | None = None, products_file: str | None = None) -> Catalogue:
    """The catalogue of a folder, read once per process.

    Args:
        data_dir: a folder with the original's files; None for the package's own.
        products_file: name of the products file in it, if not a usual one.

    Raises:
        DataError: a file is missing or wrong; the message names file, record and field.
    """
    return _load(DATA if data_dir is None else Path(data_dir), products_file)


@lru_cache(maxsize=4)
def _load(folder: Path, products_file: str | None) -> Catalogue:
    paths: list[Path | None] = []
    for what, usual in FILE_NAMES.items():
        names = (products_file,) if what == "products" and products_file else usual
        paths.append(next((folder / name for name in names if (folder / name).is_file()), None))
        if paths[-1] is None and what != "human instructions":
            raise DataError(f"no {what} file in {folder}: looked for {', '.join(names)}; check data_dir")
    return Catalogue(read_products(paths), folder == DATA)
