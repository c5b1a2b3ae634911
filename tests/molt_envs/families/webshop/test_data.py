"""Data files that are missing or wrong: the error names the file, the record and the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from molt_envs.errors import DataError
from molt_envs.families.webshop.loading import load_catalogue
from tests.molt_envs.families.webshop.shop_files import attributes, products, write_shop

PRODUCTS, ATTRIBUTES, HUMAN = "items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json"


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("asin", None, "asin"),
        ("asin", 7, "asin"),
        ("name", "", "name"),
        ("name", ["a"], "name"),
        ("category", 1, "category"),
        ("query", {}, "query"),
        ("product_category", [], "product_category"),
        ("full_description", 3.5, "full_description"),
        ("pricing", "cheap", "pricing"),
        ("pricing", "$", "pricing"),
        ("pricing", 19.99, "pricing"),
        ("small_description", {"a": 1}, "small_description"),
        ("small_description", ["fine", 3], "small_description"),
        ("customization_options", ["red"], "customization_options"),
        ("customization_options", {"Color": "red"}, "customization_options.Color"),
        ("customization_options", {"Color": ["red"]}, "customization_options.Color"),
        ("customization_options", {"Color": [{"name": "red"}]}, "value"),
    ],
)
def test_a_wrong_product_field_is_named(tmp_path: Path, field: str, value: object, named: str) -> None:
    records = products()
    records[2][field] = value
    write_shop(tmp_path, products=records)
    with pytest.raises(DataError) as caught:
        load_catalogue(tmp_path)
    message = str(caught.value)
    assert str(tmp_path / PRODUCTS) in message
    assert "record 2" in message
    assert named in message
    assert field == "asin" or "B000000003" in message


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ("text", "(record)"),
        ({"attributes": 3}, "attributes"),
        ({"attributes": ["a", None, 1]}, "attributes"),
        ({"instruction": 3}, "instruction"),
        ({"instruction": "Find me shirts", "instruction_attributes": []}, "instruction_attributes"),
    ],
)
def test_a_wrong_attributes_entry_is_named(tmp_path: Path, entry: object, named: str) -> None:
    write_shop(tmp_path, attributes=attributes() | {"B000000003": entry})
    with pytest.raises(DataError) as caught:
        load_catalogue(tmp_path)
    for part in (ATTRIBUTES, "B000000003", named):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ("text", "(record)"),
        (["text"], "(record)"),
        ([{"instruction_attributes": ["a"]}], "instruction"),
        ([{"instruction": "a", "instruction_attributes": 1}], "instruction_attributes"),
        ([{"instruction": "a", "instruction_options": [1]}], "instruction_options"),
    ],
)
def test_a_wrong_human_entry_is_named(tmp_path: Path, entry: object, named: str) -> None:
    write_shop(tmp_path, human={"B000000001": entry})
    with pytest.raises(DataError) as caught:
        load_catalogue(tmp_path)
    for part in (HUMAN, "B000000001", named):
        assert part in str(caught.value)


@pytest.mark.parametrize("what", ["products", "attributes", "human"])
@pytest.mark.parametrize("content", ["", "{", "[1, 2", "\x00", "3", '"text"'])
def test_a_corrupt_file_is_named(tmp_path: Path, what: str, content: str) -> None:
    write_shop(tmp_path, **{what: content})
    name = {"products": PRODUCTS, "attributes": ATTRIBUTES, "human": HUMAN}[what]
    with pytest.raises(DataError, match=name):
        load_catalogue(tmp_path)


@pytest.mark.parametrize(("missing", "what"), [(PRODUCTS, "products"), (ATTRIBUTES, "attributes")])
def test_a_missing_file_says_what_was_looked_for_and_where(tmp_path: Path, missing: str, what: str) -> None:
    write_shop(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(DataError) as caught:
        load_catalogue(tmp_path)
    for part in (f"no {what} file", str(tmp_path), missing):
        assert part in str(caught.value)


def test_human_instructions_may_be_missing(tmp_path: Path) -> None:
    write_shop(tmp_path)
    (tmp_path / HUMAN).unlink()
    assert load_catalogue(tmp_path).shelves.goal_starts["human"][-1] == 0


def test_a_named_products_file_is_read(tmp_path: Path) -> None:
    write_shop(tmp_path)
    (tmp_path / PRODUCTS).rename(tmp_path / "mine.json")
    assert load_catalogue(tmp_path, "mine.json").num_products == 4
    with pytest.raises(DataError, match=r"other\.json"):
        load_catalogue(tmp_path, "other.json")


def test_repeated_and_over_long_asins_are_passed_over(tmp_path: Path) -> None:
    extra: list[dict[str, Any]] = [products()[0], products()[1] | {"asin": "B0000000001"}]
    extra.append(products()[1] | {"asin": "nan"})
    catalogue = load_catalogue(write_shop(tmp_path, products=products() + extra))
    assert [catalogue.product(row).asin for row in range(catalogue.num_products)] == [
        "B000000001",
        "B000000002",
        "B000000003",
        "B000000004",
    ]


def test_a_lone_surrogate_never_reaches_a_page(tmp_path: Path) -> None:
    records = products()
    records[0]["name"] = "Bad \ud800 name"
    product = load_catalogue(write_shop(tmp_path, products=records)).product(0)
    assert product.title == "Bad ? name"


def test_a_price_range_is_drawn_within_and_by_the_asin(tmp_path: Path) -> None:
    first = load_catalogue(write_shop(tmp_path)).product(1)
    assert 35.0 < first.price < 48.0
    again = tmp_path / "again"
    again.mkdir()
    assert load_catalogue(write_shop(again)).product(1).price == first.price
