"""Writes a large set in WebShop's format: `python -m scripts.webshop_large FOLDER [NUM_PRODUCTS]`.

In: the tables of the shipped catalogue and a seed. Out: `items_shuffle.json`, `items_ins_v2.json` and
`items_human_ins.json`, written as a stream. Brands and model numbers are made up, so that the vocabulary
grows with the set as a real one does; descriptions are longer than the shipped ones by some sentences.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from scripts.webshop_catalogue import human_instruction, product_of

SEED = 21
NUM_PRODUCTS = 1_000_000
HUMAN_EVERY = 100
SIGNS = "0123456789BCDFGHJKLMNPQRSTVWXYZ"
SYLLABLES = ("ba", "co", "du", "fe", "gi", "ka", "lo", "mi", "ne", "pa", "ro", "su", "ta", "ve", "xi", "zo")
Table = dict[str, Any]


def write_large(folder: Path, num_products: int = NUM_PRODUCTS, seed: int = SEED) -> None:
    """Write the three files; the same bytes for the same numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ("items_shuffle.json", "items_ins_v2.json", "items_human_ins.json")
    with (
        (folder / names[0]).open("w", encoding="utf-8") as products,
        (folder / names[1]).open("w", encoding="utf-8") as attributes,
        (folder / names[2]).open("w", encoding="utf-8") as humans,
    ):
        for number, (product, known, human) in enumerate(large_products(num_products, seed)):
            name = json.dumps(product["asin"])
            products.write(("[\n" if not number else ",\n") + _dumps(product))
            attributes.write(("{\n" if not number else ",\n") + f"{name}: {_dumps(known)}")
            if human is not None:
                humans.write(("{\n" if not number else ",\n") + f"{name}: {_dumps([human])}")
        products.write("\n]\n")
        attributes.write("\n}\n")
        humans.write("\n}\n")


def large_products(num_products: int, seed: int) -> Iterator[tuple[Table, Table, Table | None]]:
    """Product, what is known of it, and for one in a hundred (from the first) a human instruction."""
    words: Table = json.loads(Path(__file__).with_name("webshop_words.json").read_text("utf-8"))
    rng = Random(seed)
    categories = list(words["categories"].items())
    sentences = [sentence for _, table in categories for sentence in table["details"]]
    for number in range(num_products):
        category, table = categories[rng.randrange(len(categories))]
        kind = rng.choice(table["types"])
        known = rng.sample(table["attributes"], rng.choice((4, 4, 5, 5, 6)))
        wanted = known[: rng.choice((3, 4, 4))]
        words["brands"] = ["".join(rng.choices(SYLLABLES, k=rng.choice((2, 3, 3, 4))))]
        product = product_of(words, table, kind, known, wanted, rng)
        code = "".join(rng.choices(SIGNS, k=rng.choice((4, 5, 6))))
        product["name"] += f" {code}"
        product["full_description"] += " " + " ".join(rng.choices(sentences, k=6)) + f" Model {code}."
        asin = "B0" + "".join(SIGNS[number // 31**place % 31] for place in range(8))
        text = f"Find me {', '.join(wanted[:-1])} {kind} with {wanted[-1]}"
        entry = {"attributes": known, "instruction": text, "instruction_attributes": wanted}
        options = product["customization_options"]
        human = human_instruction(words["human"], kind, wanted, options, rng)
        yield (
            product | {"asin": asin, "category": category, "query": kind},
            entry,
            None if number % HUMAN_EVERY else human,
        )


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    write_large(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
