"""A small shop in the original's files: three shirts, one with equal values in two groups, and a lamp."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SHIRT_PATH = "Clothing › Men › Shirts"


def values(*names: str) -> list[dict[str, str]]:
    """Option values as the original's files hold them."""
    return [{"value": name} for name in names]


def products() -> list[dict[str, Any]]:
    """Four records, the second and fourth without options."""
    shirt = {"product_category": SHIRT_PATH, "category": "fashion", "query": "Shirts"}
    return [
        shirt
        | {
            "asin": "B000000001",
            "name": "Acme Cotton Shirt",
            "pricing": "$19.99",
            "small_description": ["soft cotton", "machine wash"],
            "full_description": "A shirt for every day.",
            "customization_options": {"Color": values("Red", "Light Blue"), "Size": values("5/6", "7")},
        },
        shirt
        | {
            "asin": "B000000002",
            "name": "Zeta Linen Shirt",
            "pricing": "$35.00$48.00",
            "small_description": "breathable linen",
            "full_description": "",
            "customization_options": None,
        },
        shirt
        | {
            "asin": "B000000003",
            "name": "Twin Shirt",
            "pricing": "",
            "small_description": None,
            "full_description": None,
            "customization_options": {
                "outer": values("black", "white"),
                "inner": values("white", "black"),
                "notes": values("buy now", "features"),
            },
        },
        {
            "asin": "B000000004",
            "name": "Brass Lamp é 灯",
            "pricing": "$985.00",
            "product_category": "Home › Lamps",
            "category": "garden",
            "query": "lamps",
            "small_description": [],
            "full_description": "Warm light.",
            "customization_options": {},
            "average_rating": 4.5,
            "reviews": ["Lovely", "Shines well."],
        },
    ]


def attributes() -> dict[str, Any]:
    """Attributes and synthetic instructions."""
    return {
        "B000000001": {
            "attributes": ["machine wash", "soft cotton"],
            "instruction": "Find me machine wash shirts",
            "instruction_attributes": ["machine wash"],
        },
        "B000000002": {"attributes": ["linen"]},
        "B000000003": {
            "attributes": ["double layer"],
            "instruction": "Find me double layer shirts",
            "instruction_attributes": ["double layer"],
        },
        "B000000004": {
            "attributes": ["warm light"],
            "instruction": "Find me warm light lamps",
            "instruction_attributes": ["warm light"],
        },
    }


def human() -> dict[str, Any]:
    """Human instructions: options as a list and as an object, and one without attributes."""
    return {
        "B000000001": [
            {
                "instruction": "i want a washable shirt in red.",
                "instruction_attributes": ["machine wash"],
                "instruction_options": ["Red"],
            },
            {"instruction": "any shirt", "instruction_attributes": [], "instruction_options": []},
        ],
        "B000000004": [
            {
                "instruction": "a lamp with warm light",
                "instruction_attributes": ["warm light"],
                "instruction_options": {},
            },
        ],
    }


def write_shop(folder: Path, **files: object) -> Path:
    """Write the three files, each replaced by an argument (`products`, `attributes`, `human`) where given."""
    contents = {"products": products(), "attributes": attributes(), "human": human()} | files
    names = {
        "products": "items_shuffle_1000.json",
        "attributes": "items_ins_v2_1000.json",
        "human": "items_human_ins.json",
    }
    for what, content in contents.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / names[what]).write_text(text, encoding="utf-8")
    return folder
