"""The files of a shop in WebShop's own format: products, what is known of them, human instructions.

In: a folder. Out: products with the places in the files that each came from, and again one by one.
"""

import json
import mmap
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from molt_envs.errors import DataError
from molt_envs.families.webshop.products import Product, asin_of, parse_product
from molt_envs.tools.json_stream import stream_json

FILE_NAMES = {
    "products": ("products.json", "items_shuffle.json", "items_shuffle_1000.json"),
    "attributes": ("attributes.json", "items_ins_v2.json", "items_ins_v2_1000.json"),
    "human instructions": ("human.json", "items_human_ins.json"),
}
Spans = tuple[int, int, int, int, int, int]
"""First byte and byte after the last in each of the three files; equal where a file has nothing."""


class ProductFiles:
    """Finds the three files of a folder.

    Args:
        folder: where they are.
        products_file: name of the products file, if not a usual one.

    Raises:
        DataError: a file is missing.
    """

    def __init__(self, folder: Path, products_file: str | None = None) -> None:
        self.folder = folder
        self.paths: list[Path | None] = []
        for what, usual in FILE_NAMES.items():
            names = (products_file,) if what == "products" and products_file else usual
            self.paths.append(next((folder / name for name in names if (folder / name).is_file()), None))
            if self.paths[-1] is None and what != "human instructions":
                raise DataError(f"no {what} file in {folder}: looked for {', '.join(names)}; check data_dir")

    @property
    def num_product_bytes(self) -> int:
        """Size of the products file."""
        assert self.paths[0] is not None
        return self.paths[0].stat().st_size

    def scan(self, report: Callable[[int], None] | None = None) -> Iterator[tuple[Product, Spans]]:
        """Products in the order of the file; as in the original, a repeated or over-long ASIN is passed over.

        Args:
            report: called with the number of bytes read of the products, from time to time.

        Raises:
            DataError: a file is broken or a value is wrong; the message names file, record and field.
        """
        products, *others = self.paths
        assert products is not None
        known, human = (
            {key: (start, end) for key, _, start, end in stream_json(path, "{")} if path else {}
            for path in others
        )
        seen: set[str] = set()
        for number, (_, record, start, end) in enumerate(stream_json(products, "[", report)):
            place = f"{products}: record {number}"
            asin = asin_of(place, record)
            if asin is not None and asin not in seen:
                seen.add(asin)
                spans = (start, end, *known.get(asin, (0, 0)), *human.get(asin, (0, 0)))
                places = (place, *map(str, others))
                yield (
                    parse_product(places, record, self._value(1, *spans[2:4]), self._value(2, *spans[4:])),
                    spans,
                )

    def read(self, spans: Spans) -> Product:
        """One product again."""
        places = (f"{self.paths[0]}: byte {spans[0]}", *map(str, self.paths[1:]))
        return parse_product(places, *(self._value(file, *spans[2 * file :][:2]) for file in range(3)))

    def _value(self, file: int, start: int, end: int) -> Any:
        return json.loads(self._contents[file][start:end]) if start < end else None

    @cached_property
    def _contents(self) -> list[mmap.mmap | bytes]:
        """Mapped, so that processes share what they read."""
        contents: list[mmap.mmap | bytes] = []
        for path in self.paths:
            if path is None or not path.stat().st_size:
                contents.append(b"")
                continue
            with path.open("rb") as file:
                contents.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return contents
