"""Turns a validation problem into one line for a person: key, value, bounds, near names.

In: entries of pydantic's `ValidationError.errors()`. Out: text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

_NO_FIELD = ("model_type", "model_attributes_type", "dict_type")


def suggest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for a near name, else the list of known ones."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(names)}"


def explain(problem: Mapping[str, Any], config: type[BaseModel]) -> str:
    """One line for one problem of validating `config`."""
    location = [str(part) for part in problem["loc"]]
    kind, value = problem["type"], problem["input"]
    if kind == "extra_forbidden":
        return _unknown(location, config)
    field = _field(location, config)
    key = ".".join(location[:2]) if field is not None else ".".join(location)
    if kind == "missing":
        meaning = f" ({field.description})" if field is not None and field.description else ""
        return f"{key} is missing{meaning}"
    if kind == "value_error":
        return str(problem["ctx"]["error"])
    if kind in _NO_FIELD:
        return f"{key} = {value!r} is a value; it must be a section of keys"
    allowed = "" if field is None else bounds(field)
    wanted = (problem["msg"][:1].lower() + problem["msg"][1:]).replace("tuple", "list")
    if kind == "literal_error" and isinstance(value, str) and field is not None:
        wanted += _near_choice(value, str(problem["ctx"]["expected"]))
    return f"{key} = {_short(value)}: {wanted}" + (f"; allowed are {allowed}" if allowed else "")


def _near_choice(value: str, expected: str) -> str:
    near = difflib.get_close_matches(value, re.findall(r"'([^']*)'", expected), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def _unknown(location: list[str], config: type[BaseModel]) -> str:
    sections = config.model_fields
    if len(location) == 1:
        return f"unknown section {location[0]!r}{suggest(location[0], sections)}"
    section, key = location[0], location[1]
    known = _keys(sections[section])
    elsewhere = [f"{other}.{key}" for other, field in sections.items() if key in _keys(field)]
    if elsewhere and not difflib.get_close_matches(key, known, n=1, cutoff=0.8):
        return f"unknown key {section}.{key}; did you mean {elsewhere[0]!r}?"
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if near:
        return f"unknown key {section}.{key}; did you mean '{section}.{near[0]}'?"
    return f"unknown key {section}.{key}; {section} has {', '.join(known)}"


def _keys(section: FieldInfo) -> list[str]:
    model = section.annotation
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _field(location: list[str], config: type[BaseModel]) -> FieldInfo | None:
    section = config.model_fields.get(location[0]) if location else None
    if section is None or len(location) == 1:
        return section
    model = section.annotation
    if isinstance(model, type) and issubclass(model, BaseModel):
        return model.model_fields.get(location[1])
    return None


def bounds(field: FieldInfo) -> str:
    """The field's range in words, e.g. `≥ 1, ≤ 4096`; empty when it has none."""
    found: list[str] = []
    for rule in field.metadata:
        match rule:
            case Ge(ge=limit):
                found.append(f"≥ {limit}")
            case Gt(gt=limit):
                found.append(f"> {limit}")
            case Le(le=limit):
                found.append(f"≤ {limit}")
            case Lt(lt=limit):
                found.append(f"< {limit}")
            case _:
                pass
    return ", ".join(found)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
