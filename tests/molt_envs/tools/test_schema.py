"""Schemas from typed functions, and values checked against schemas."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from molt_envs.tools.schema import Bounds, faults, function_schema


def book(
    room: str,
    hours: Annotated[int, Bounds(1, 8)],
    kind: Literal["call", "visit"] = "call",
    guests: list[str] | None = None,
    notes: dict[str, float] | None = None,
) -> str:
    """Book a room.

    The room must be free.

    Args:
        room: its name,
            as on the door.
        hours (int): how long.

    Returns:
        a text: nothing else.
    """
    return f"{room} {hours} {kind} {guests} {notes}"


PARAMETERS: Any = function_schema(book)["function"]["parameters"]  # type: ignore[index]


def test_a_typed_function_is_its_schema() -> None:
    assert function_schema(book) == {
        "type": "function",
        "function": {
            "name": "book",
            "description": "Book a room.  The room must be free.",
            "parameters": {
                "type": "object",
                "properties": {
                    "room": {"type": "string", "description": "its name, as on the door."},
                    "hours": {"type": "integer", "minimum": 1, "maximum": 8, "description": "how long."},
                    "kind": {"type": "string", "enum": ["call", "visit"]},
                    "guests": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
                    "notes": {
                        "anyOf": [
                            {"type": "object", "additionalProperties": {"type": "number"}},
                            {"type": "null"},
                        ]
                    },
                },
                "required": ["room", "hours"],
            },
        },
    }


def test_functions_that_no_call_can_name_are_refused() -> None:
    def without_type(x) -> str:  # type: ignore[no-untyped-def]
        return x

    def of_another_type(x: bytes) -> str:
        return str(x)

    def with_many(*x: str) -> str:
        return str(x)

    for function, words in ((without_type, "no type"), (of_another_type, "bytes"), (with_many, "by name")):
        with pytest.raises(TypeError, match=words):
            function_schema(function)


@pytest.mark.parametrize(
    "value",
    [
        {"room": "A", "hours": 1},
        {"room": "", "hours": 8, "kind": "visit", "guests": [], "notes": {"x": 1, "y": 1.5}},
        {"room": "A", "hours": 2, "guests": None, "notes": None},
    ],
)
def test_what_fits_has_no_faults(value: object) -> None:
    assert faults(value, PARAMETERS) == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"hours": 1}, "lacks 'room'"),
        ({"room": 3, "hours": 1}, "room must be string, not integer 3"),
        ({"room": "A", "hours": "1"}, 'hours must be integer, not string "1"'),
        ({"room": "A", "hours": True}, "hours must be integer, not boolean true"),
        ({"room": "A", "hours": 1.0}, "hours must be integer, not number 1.0"),
        ({"room": "A", "hours": 0}, "hours must be at least 1"),
        ({"room": "A", "hours": 10**400}, "hours must be at most 8"),
        ({"room": "A", "hours": 1, "kind": "party"}, 'kind must be one of "call", "visit"'),
        ({"room": "A", "hours": 1, "guests": [1]}, "guests[0] must be string"),
        ({"room": "A", "hours": 1, "notes": {"x": "y"}}, "notes.x must be number"),
        ({"room": "A", "hours": 1, "guest": []}, "no 'guest'; did you mean 'guests'?"),
        ([], "arguments must be object, not array []"),
    ],
)
def test_what_does_not_fit_is_said(value: object, words: str) -> None:
    found = faults(value, PARAMETERS)
    assert len(found) == 1
    assert words in found[0]


def test_schemas_that_come_as_data() -> None:
    schema = {
        "type": "object",
        "properties": {
            "limit": {"type": ["integer", "null"]},
            "flag": {"enum": [1, None]},
            "tags": {"type": "array", "minItems": 1, "items": {"type": "string", "maxLength": 3}},
            "where": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
            "odd": {"type": "geometry", "pattern": "("},
        },
        "additionalProperties": {"type": "boolean"},
    }
    assert (
        faults({"limit": None, "flag": 1, "tags": ["abc"], "where": {"x": 1}, "odd": 3, "b": True}, schema)
        == []
    )
    assert len(faults({"limit": "1", "flag": True, "tags": [], "where": {}, "b": 1}, schema)) == 5
    assert faults({"tags": ["abcd"]}, schema) == ["the length of tags[0] must be at most 3, not 4"]
    assert faults({"where": {"x": 1, "y": 2}}, schema) == ["where has no 'y'"]
    assert faults({"anything": [1]}, {"type": "object"}) == []
