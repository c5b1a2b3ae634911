"""One product of a shop, and how it is read from a record in WebShop's own format.

In: JSON files. Out: checked `Product`s; a wrong value is an error that names file, record and field.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from molt_envs.errors import DataError
from molt_envs.families.webshop.language import title_nouns

T = TypeVar("T", str, list[Any], dict[str, Any])
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HumanInstruction:
    """What a person asked for."""

    text: str
    """The instruction, without a price."""
    attributes: tuple[str, ...]
    """What it asks for."""
    options: tuple[str, ...]
    """Option values it asks for."""


@dataclass(frozen=True, slots=True)
class Product:
    """One product, as the shop shows and grades it."""

    asin: str
    """At most ten characters."""
    title: str
    """Its name."""
    price: float
    """In dollars; drawn by the ASIN where the file gives a range."""
    price_tag: str
    """As shown."""
    category: str
    """The coarse category."""
    query: str
    """The fine category, lower case."""
    path: frozenset[str]
    """Elements of the category path."""
    bullets: tuple[str, ...]
    """Features."""
    description: str
    """Text of the description page."""
    attributes: tuple[str, ...]
    """What the product is known to be."""
    options: tuple[tuple[str, tuple[str, ...]], ...]
    """Groups in page order, names and values in lower case."""
    nouns: frozenset[str]
    """Nouns of the title."""
    rating: str
    """As shown."""
    reviews: tuple[str, ...]
    """Lines of the reviews page."""
    instruction: str
    """The synthetic instruction, without options and price; may be empty."""
    wanted: tuple[str, ...]
    """Attributes that it asks for."""
    humans: tuple[HumanInstruction, ...]
    """What people asked for."""


def read_json(path: Path, kind: type[T]) -> T:
    """The content of a JSON file whose outermost value is of a kind."""
    try:
        content: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}; check data_dir") from error
    except ValueError as error:
        raise DataError(f"{path} is not valid JSON: {error}; fetch it again") from error
    return _checked(str(path), "(outermost value)", content, kind)


def read_products(paths: tuple[Path, Path, Path | None]) -> Iterator[Product]:
    """Products in the order of the file; as in the original, a repeated or over-long ASIN is passed over.

    Args:
        paths: products, attributes, human instructions.
    """
    known, human = read_json(paths[1], dict), read_json(paths[2], dict) if paths[2] else {}
    seen: set[str] = set()
    for number, item in enumerate(read_json(paths[0], list)):
        place = f"{paths[0]}: record {number}"
        record = _checked(place, "(record)", item, dict)
        asin = _text(place, record, "asin", required=True)
        if asin != "nan" and len(asin) <= 10 and asin not in seen:
            seen.add(asin)
            entry = _checked(f"{paths[1]}: {asin}", "(record)", known.get(asin), dict)
            humans = _humans(f"{paths[2]}: {asin}", human.get(asin))
            yield _product(f"{place} ({asin})", record, f"{paths[1]}: {asin}", entry, humans)


def _product(
    place: str, record: Record, known_place: str, known: Record, humans: tuple[HumanInstruction, ...]
) -> Product:
    title, reviews = _text(place, record, "name", required=True).strip(), _texts(place, record, "reviews")
    instruction = _text(known_place, known, "instruction")
    prices = _prices(place, _text(place, record, "pricing"))
    draw = random.Random(f"price {record['asin']}")
    return Product(
        asin=record["asin"],
        title=title,
        price=prices[0] if len(prices) == 1 else draw.uniform(*prices),
        price_tag=" to ".join(f"${price}" for price in prices),
        category=_text(place, record, "category"),
        query=_text(place, record, "query").lower().strip(),
        path=frozenset(part.strip() for part in _text(place, record, "product_category").split("\u203a")),
        bullets=_texts(place, record, "small_description"),
        description=_text(place, record, "full_description").strip(),
        attributes=_texts(known_place, known, "attributes"),
        options=tuple(_options(place, record)),
        nouns=frozenset(_texts(place, record, "nouns")) or title_nouns(title),
        rating=str(record.get("average_rating") or "N.A.") if reviews else "N.A.",
        reviews=reviews,
        instruction=instruction,
        wanted=_texts(known_place, known, "instruction_attributes", required=bool(instruction)),
        humans=humans,
    )


def _prices(place: str, text: str) -> tuple[float, ...]:
    """One or two prices; $100 where none is given, as in the original."""
    try:
        prices = tuple(float(part.replace(",", "")) for part in (text or "$100").split("$")[1:3])
    except ValueError:
        prices = ()
    if not prices or not all(0 <= price < 1e9 for price in prices):
        raise _wrong(place, "pricing", "prices such as '$19.99' or '$19.99$27.99'", text)
    return prices


def _options(place: str, record: Record) -> Iterator[tuple[str, tuple[str, ...]]]:
    groups = _checked(place, "customization_options", record.get("customization_options") or None, dict)
    for name, contents in groups.items():
        field = f"customization_options.{name}"
        items = [_checked(place, field, item, dict) for item in _checked(place, field, contents, list)]
        values = [_text(f"{place}, field {field!r}", item, "value", required=True) for item in items]
        if values:
            yield name.lower(), tuple(value.strip().replace("/", " | ").lower() for value in values)


def _humans(place: str, value: object) -> tuple[HumanInstruction, ...]:
    """The instructions of one product; as in the original, those without attributes are passed over."""
    entries = [_checked(place, "(record)", item, dict) for item in _checked(place, "(record)", value, list)]
    found: list[HumanInstruction] = []
    for entry in entries:
        options = entry.get("instruction_options")
        if isinstance(options, dict):
            entry = {**entry, "instruction_options": list(cast(Record, options).values())}
        text = _text(place, entry, "instruction", required=True).strip().strip(".")
        attributes = _texts(place, entry, "instruction_attributes")
        found.append(HumanInstruction(text, attributes, _texts(place, entry, "instruction_options")))
    return tuple(human for human in found if human.attributes)


def _wrong(place: str, field: str, expected: str, value: object) -> DataError:
    return DataError(f"{place}, field {field!r}: expected {expected}, got {value!r:.80}")


def _checked(place: str, field: str, value: object, kind: type[T]) -> T:
    """`value` if it is of the kind; an empty one for null."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise _wrong(place, field, {str: "a string", list: "a list", dict: "an object"}[kind], value)
    return value


def _text(place: str, record: Mapping[str, Any], field: str, required: bool = False) -> str:
    """A string without lone surrogates, which no page could show."""
    text = _checked(place, field, record.get(field), str)
    if required and not text.strip():
        raise _wrong(place, field, "a non-empty string", record.get(field))
    return text.encode("utf-8", "replace").decode("utf-8")


def _texts(place: str, record: Mapping[str, Any], field: str, required: bool = False) -> tuple[str, ...]:
    """Strings; a single one is a list of one."""
    value = record.get(field)
    values = [value] if isinstance(value, str) else _checked(place, field, value, list)
    if required and not values:
        raise _wrong(place, field, "at least one string", value)
    return tuple(_text(place, {field: item}, field).strip() for item in values)
