"""Builds WebShop's shipped catalogue from word tables: `python -m scripts.webshop_catalogue [FOLDER]`.

In: `webshop_words.json` and a seed. Out: `products.json`, `attributes.json` and `human.json` in WebShop's
format, the same bytes each time. No product of a
type has all attributes that another one's instruction names.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

from molt_envs.families.webshop.language import DATA

SEED = 20
NUM_PER_TYPE = 12
NUM_HUMAN = 4
Table = dict[str, Any]


def build() -> dict[str, str]:
    """File name to content."""
    words: Table = json.loads(Path(__file__).with_name("webshop_words.json").read_text("utf-8"))
    rng = Random(SEED)
    products: list[Table] = []
    attributes: Table = {}
    human: Table = {}
    asins: set[str] = set()
    for category, table in words["categories"].items():
        for kind in table["types"]:
            for known, wanted in _attribute_sets(table["attributes"], rng):
                asin = "B0" + "".join(rng.choices("0123456789BCDFGHJKLMNPQRSTVWXYZ", k=8))
                if asin in asins:
                    raise ValueError(f"ASIN {asin} was drawn twice; choose another SEED")
                asins.add(asin)
                product = product_of(words, table, kind, known, wanted, rng)
                products.append(product | {"asin": asin, "category": category, "query": kind})
                options = product["customization_options"]
                text = f"Find me {', '.join(wanted[:-1])} {kind} with {wanted[-1]}"
                attributes[asin] = {
                    "attributes": known,
                    "instruction": text,
                    "instruction_attributes": wanted,
                }
                human[asin] = [
                    human_instruction(words["human"], kind, wanted, options, rng) for _ in range(NUM_HUMAN)
                ]
    rng.shuffle(products)
    named = {"products.json": products, "attributes.json": attributes, "human.json": human}
    return {name: _lines(value) for name, value in named.items()}


def _lines(value: list[Table] | Table) -> str:
    """JSON with one record a line."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]\n"
    entries = (f"{json.dumps(key)}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _attribute_sets(table: list[str], rng: Random) -> list[tuple[list[str], list[str]]]:
    """Known and wanted attributes of the products of one type."""
    sets: list[tuple[list[str], list[str]]] = []
    while len(sets) < NUM_PER_TYPE:
        known = rng.sample(table, rng.choice((4, 4, 5, 5, 6)))
        wanted = known[: rng.choice((3, 4, 4))]
        if not any(set(wanted) <= set(other) or set(theirs) <= set(known) for other, theirs in sets):
            sets.append((known, wanted))
    return sets


def product_of(
    words: Table, table: Table, kind: str, known: list[str], wanted: list[str], rng: Random
) -> Table:
    """A record of a product of a kind, with its known attributes, all but the ASIN and the categories."""
    brand, model, use = (
        rng.choice(source) for source in (words["brands"], words["model_words"], table["uses"])
    )
    told = rng.sample(wanted, len(wanted) - (rng.random() < 0.15))
    names = {
        "brand": brand,
        "model": model,
        "type": kind,
        "use": use,
        "first": told[0],
        "rest": " ".join(told[1:]),
    }
    title = rng.choice(words["titles"]).format(**names)
    facts = ", ".join(known[:-1]) + f" and {known[-1]}"
    details = rng.sample(table["details"], len(table["details"]))
    description = rng.choice(words["descriptions"]).format(**names, facts=facts, detail=details[0])
    bullets = [
        rng.choice(words["bullets"]).format(fact=fact, detail=detail)
        for fact, detail in zip(rng.sample(known, rng.randint(2, 4)), details[1:], strict=False)
    ]
    low, high = table["price"]
    price = round(low + (high - low) * rng.random() ** 2) - rng.choice((0.01, 0.05, 0.5))
    reviews = rng.sample(words["reviews"], rng.choice((0, 0, 1, 2, 3)))
    return {
        "name": " ".join(word[0].upper() + word[1:] for word in title.split()),
        "pricing": f"${price:.2f}" + (f"${price * rng.uniform(1.1, 1.6):.2f}" if rng.random() < 0.3 else ""),
        "product_category": f"{table['path']} › {kind.title()}",
        "small_description": [*(bullet[0].upper() + bullet[1:] for bullet in bullets)],
        "full_description": f"{description} {rng.choice(words['care']).format(**names)}",
        "customization_options": _options(words, table["options"], rng),
        "average_rating": round(rng.uniform(3.2, 5.0), 1),
        "reviews": [line for review in reviews for line in review],
        "nouns": sorted({brand, *kind.split()}),
    }


def _options(words: Table, groups: Table, rng: Random) -> Table:
    options: Table = {}
    for name, sources in groups.items():
        if rng.random() > words["group_shares"].get(name, 0.07):
            continue
        values = words["values"][rng.choice(sources)]
        most = min(len(values), 8 if name in ("color", "flavor", "scent") else 6)
        chosen = sorted(rng.sample(range(len(values)), rng.randint(2, most)))
        options[name] = [{"value": values[position]} for position in chosen]
    return options


def human_instruction(table: Table, kind: str, wanted: list[str], options: Table, rng: Random) -> Table:
    """An instruction as a person would write it, with what it asks for."""
    facts = rng.sample(wanted, len(wanted))
    join = rng.choice(table["join"])
    text = rng.choice(table["attributes"]).format(item=kind, facts=", ".join(facts[:-1]) + join + facts[-1])
    chosen = {name: rng.choice(values)["value"] for name, values in options.items()}
    for name, value in chosen.items():
        text += rng.choice(table["options"]).format(
            option=rng.choice(table["option"]).format(name=name, value=value)
        )
    text = f"{rng.choice(table['start'])} {text}"
    return {"instruction": text, "instruction_attributes": facts, "instruction_options": chosen}


if __name__ == "__main__":
    for file_name, content in build().items():
        (Path(sys.argv[1]) if len(sys.argv) > 1 else DATA).joinpath(file_name).write_text(content, "utf-8")
