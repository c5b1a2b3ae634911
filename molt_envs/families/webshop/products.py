"""One product of a shop, and how it is read from a record in WebShop's own format.

In: values of JSON files. Out: checked `Product`s; a wrong value is an error that names file, record, field.
"""

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from molt_envs.errors import DataError
from molt_envs.families.webshop.language import title_nouns

T = TypeVar("T", str, list[Any], dict[str, Any])
Record = dict[str, Any]
_PRICE = re.compile(r"\$\s*([0-9][0-9,]{0,12}(?:\.[0-9]*)?)")
Humans = tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]


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
    humans: Humans
    """Human instructions without a price; for each, the attributes and the option values that it asks for."""

    @property
    def num_synthetic(self) -> int:
        """Number of goals made of the instruction: one for each combination of options."""
        return math.prod(len(values) for _, values in self.options) if self.instruction else 0


def asin_of(place: str, record: object) -> str | None:
    """The ASIN of a record; None for one that the original passes over."""
    asin = _text(place, _checked(place, "(record)", record, dict), "asin", required=True)
    return asin if asin != "nan" and len(asin) <= 10 else None


def parse_product(places: Sequence[str], record: Record, entry: object, human: object) -> Product:
    """A product from its record, its entry in the file of attributes, and its human instructions.

    Args:
        places: what errors call these three.
        record: one of which `asin_of` is not None.
        entry: may be None.
        human: may be None.

    Raises:
        DataError: a wrong value; the message names place and field.
    """
    asin = _text(places[0], record, "asin")
    place, known_place = f"{places[0]} ({asin})", f"{places[1]}: {asin}"
    known: Record = _checked(known_place, "(record)", entry, dict)
    humans = tuple(_humans(f"{places[2]}: {asin}", human))
    title, reviews = _text(place, record, "name", required=True).strip(), _texts(place, record, "reviews")
    instruction = _text(known_place, known, "instruction")
    prices = _prices(place, _text(place, record, "pricing"))
    return Product(
        asin=asin,
        title=title,
        price=random.Random(f"price {asin}").uniform(prices[0], prices[-1]),
        price_tag=" to ".join(f"${price}" for price in prices),
        category=_text(place, record, "category"),
        query=_text(place, record, "query").lower().strip(),
        path=frozenset(map(str.strip, _text(place, record, "product_category").split("\u203a"))),
        bullets=_texts(place, record, "small_description"),
        description=_text(place, record, "full_description").strip(),
        attributes=_texts(known_place, known, "attributes"),
        options=tuple(_options(place, record)),
        nouns=frozenset(_texts(place, record, "nouns")) or title_nouns(title),
        rating=str(record.get("average_rating") or "N.A.") if reviews else "N.A.",
        reviews=reviews,
        instruction=instruction,
        wanted=_texts(known_place, known, "instruction_attributes", required=bool(instruction)),
        humans=tuple(human for human in humans if human[1]),
    )


def _prices(place: str, text: str) -> tuple[float, ...]:
    """One or two prices; $100 where none is given, as in the original."""
    prices = tuple(float(price.replace(",", "")) for price in _PRICE.findall(text or "$100")[:2])
    if not prices:
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


def _humans(place: str, value: object) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    for item in _checked(place, "(record)", value, list):
        entry = _checked(place, "(record)", item, dict)
        text = _text(place, entry, "instruction", required=True).strip().strip(".")
        options = entry.get("instruction_options")
        values = list(cast(Record, options).values()) if isinstance(options, dict) else options
        wishes = _texts(place, {"instruction_options": values}, "instruction_options")
        yield text, _texts(place, entry, "instruction_attributes"), tuple(map(str.lower, wishes))


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
