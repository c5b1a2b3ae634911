"""One product of a shop, and how it is read from a record in WebShop's own format.

In: JSON files. Out: checked `Product`s; a wrong value is an error that names the file, the record and the field.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from molt_envs.errors import DataError
from molt_envs.families.webshop.language import title_nouns

Options = tuple[tuple[str, tuple[str, ...]], ...]
DEFAULT_PRICE = 100.0


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
    """Ten characters."""
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
    path: tuple[str, ...]
    """Category path from the root."""
    bullets: tuple[str, ...]
    """Features."""
    description: str
    """Text of the description page."""
    attributes: tuple[str, ...]
    """What the product is known to be."""
    options: Options
    """Groups in page order, names and values in lower case."""
    nouns: frozenset[str]
    """Nouns of the title."""
    rating: str
    """As shown."""
    reviews: tuple[str, ...]
    """Lines of the reviews page."""
    instruction: str | None
    """The synthetic instruction, without options and price."""
    instruction_attributes: tuple[str, ...]
    """What it asks for."""
    humans: tuple[HumanInstruction, ...]
    """What people asked for."""


class Reader:
    """A JSON file with accessors that check types and name file, record and field when they fail.

    Args:
        path: the file.
        kind: type of its outermost value.
    """

    def __init__(self, path: str, kind: type) -> None:
        self.path = path
        try:
            self.content: Any = json.loads(Path(path).read_bytes())
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise DataError(f"{path} is not valid JSON: {error}") from error
        if not isinstance(self.content, kind):
            raise DataError(f"{path}: expected a JSON {kind.__name__}, found {type(self.content).__name__}")

    def fail(self, record: str, field: str, expected: str, value: object) -> DataError:
        """The error for a wrong value."""
        return DataError(f"{self.path}: {record}, field {field!r}: expected {expected}, got {value!r:.80}")

    def text(self, source: Mapping[str, Any], field: str, record: str, required: bool = False) -> str:
        """A string; null and absent are empty unless `required`."""
        value = source.get(field)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or (required and not value):
            raise self.fail(record, field, "a string" if not required else "a non-empty string", value)
        return value.encode("utf-8", "replace").decode("utf-8")

    def texts(self, source: Mapping[str, Any], field: str, record: str) -> tuple[str, ...]:
        """A list of strings; one string is a list of one, null and absent are an empty list."""
        value = source.get(field)
        values = [value] if isinstance(value, str) else value or []
        if not isinstance(values, list):
            raise self.fail(record, field, "a list of strings", value)
        items = cast(list[Any], values)
        if not all(isinstance(item, str) for item in items):
            raise self.fail(record, field, "a list of strings", value)
        return tuple(item.encode("utf-8", "replace").decode("utf-8") for item in items)


def read_products(products: Reader, attributes: Reader, human: Reader | None) -> Iterator[Product]:
    """All products in file order; as in the original, a repeated or over-long ASIN is passed over."""
    seen: set[str] = set()
    for number, record in enumerate(products.content):
        place = f"record {number}"
        if not isinstance(record, dict):
            raise products.fail(place, "record", "an object", record)
        source = cast(dict[str, Any], record)
        asin = products.text(source, "asin", place, required=True)
        if asin == "nan" or len(asin) > 10 or asin in seen:
            continue
        seen.add(asin)
        known = attributes.content.get(asin, {})
        if not isinstance(known, dict):
            raise attributes.fail(asin, "record", "an object", known)
        humans = _humans(human, asin) if human is not None else ()
        yield _product(
            products, source, f"record {number} ({asin})", attributes, cast(dict[str, Any], known), humans
        )


def _product(
    reader: Reader,
    source: Mapping[str, Any],
    place: str,
    known_reader: Reader,
    known: Mapping[str, Any],
    humans: tuple[HumanInstruction, ...],
) -> Product:
    asin = source["asin"]
    title = reader.text(source, "name", place, required=True)
    prices = _prices(reader, source, place)
    reviews = reader.texts(source, "reviews", place)
    nouns = reader.texts(source, "nouns", place)
    instruction = known_reader.text(known, "instruction", asin) or None
    wanted = known_reader.texts(known, "instruction_attributes", asin)
    if instruction is not None and not wanted:
        raise known_reader.fail(asin, "instruction_attributes", "at least one attribute", list(wanted))
    rating = source.get("average_rating") if reviews else None
    return Product(
        asin=asin,
        title=title.strip(),
        price=prices[0] if len(prices) == 1 else random.Random(f"price {asin}").uniform(*prices),
        price_tag=" to ".join(f"${price}" for price in prices),
        category=reader.text(source, "category", place),
        query=reader.text(source, "query", place).lower().strip(),
        path=tuple(part.strip() for part in reader.text(source, "product_category", place).split("\u203a")),
        bullets=tuple(bullet.strip() for bullet in reader.texts(source, "small_description", place)),
        description=reader.text(source, "full_description", place).strip(),
        attributes=known_reader.texts(known, "attributes", asin),
        options=_options(reader, source, place),
        nouns=frozenset(nouns) or title_nouns(title),
        rating="N.A." if rating is None else str(rating),
        reviews=reviews,
        instruction=instruction,
        instruction_attributes=wanted,
        humans=humans,
    )


def _prices(reader: Reader, source: Mapping[str, Any], place: str) -> tuple[float, ...]:
    text = reader.text(source, "pricing", place)
    if not text:
        return (DEFAULT_PRICE,)
    try:
        prices = tuple(float(part.replace(",", "")) for part in text.split("$")[1:3])
    except ValueError:
        prices = ()
    if not prices or not all(0 <= price < 1e9 for price in prices):
        raise reader.fail(place, "pricing", "prices such as '$19.99' or '$19.99$27.99'", text)
    return prices


def _options(reader: Reader, source: Mapping[str, Any], place: str) -> Options:
    groups = source.get("customization_options") or {}
    if not isinstance(groups, dict):
        raise reader.fail(place, "customization_options", "an object of lists", groups)
    options: dict[str, tuple[str, ...]] = {}
    for name, contents in cast(dict[str, Any], groups).items():
        field = f"customization_options.{name}"
        if contents is None:
            continue
        if not isinstance(contents, list) or not all(
            isinstance(item, dict) for item in cast(list[Any], contents)
        ):
            raise reader.fail(place, field, "a list of objects", contents)
        values = [
            reader.text(item, "value", f"{place}, {field}", required=True)
            for item in cast(list[Any], contents)
        ]
        options[name.lower()] = tuple(value.strip().replace("/", " | ").lower() for value in values)
    return tuple((name, values) for name, values in options.items() if values)


def _humans(reader: Reader, asin: str) -> tuple[HumanInstruction, ...]:
    entries = reader.content.get(asin) or []
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) for entry in cast(list[Any], entries)
    ):
        raise reader.fail(asin, "record", "a list of objects", entries)
    humans: list[HumanInstruction] = []
    for number, entry in enumerate(cast(list[dict[str, Any]], entries)):
        place, options = f"{asin} instruction {number}", entry.get("instruction_options")
        listed = {"instruction_options": list(options.values())} if isinstance(options, dict) else entry
        text = reader.text(entry, "instruction", place, required=True).strip().strip(".")
        attributes = reader.texts(entry, "instruction_attributes", place)
        if attributes:  # the original skips instructions without attributes
            humans.append(
                HumanInstruction(text, attributes, reader.texts(listed, "instruction_options", place))
            )
    return tuple(humans)
