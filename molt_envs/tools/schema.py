"""Tools as JSON schemas, and values checked against them.

In: a typed Python function, or a schema that comes as data. Out: a `ToolSchema`; for a value, the faults in
it as sentences for the agent. The subset: type, enum, anyOf, properties, required, items, bounds, lengths.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from molt_envs.protocol.messages import ToolSchema

_NAMES: dict[object, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    NoneType: "null",
}
_PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (NoneType,),
    "array": (list,),
    "object": (dict,),
}
_ARGUMENT = re.compile(r"^\s*(\w+)(?:\s*\([^)]*\))?:\s*(.+)$")
_SECTION = re.compile(r"\s*(Args|Returns|Raises|Yields):\s*$")


@dataclass(frozen=True)
class Bounds:
    """Least and greatest value of a number, as `Annotated[int, Bounds(1, 10)]`."""

    minimum: float | None = None
    """Least value; None for no bound."""
    maximum: float | None = None
    """Greatest value; None for no bound."""


def function_schema(function: Callable[..., str], name: str | None = None) -> ToolSchema:
    """The schema of a typed function: hints give the types, the docstring the words, defaults are optional.

    Args:
        function: parameters of type str, int, float, bool, Literal, list, dict or one of them or None.
        name: the tool's name; the function's own by default.

    Raises:
        TypeError: a parameter without a type, of another type, or that cannot be named in a call.
    """
    hints = get_type_hints(function, include_extras=True)
    summary, told = _docstring(function)
    properties: dict[str, object] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        where = f"{function.__name__}({parameter.name})"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{where}: a tool's argument is passed by name; this one cannot be")
        if parameter.name not in hints:
            raise TypeError(f"{where} has no type; annotate it")
        words = {"description": told[parameter.name]} if parameter.name in told else {}
        properties[parameter.name] = _type_schema(hints[parameter.name], where) | words
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    parameters = {"type": "object", "properties": properties, "required": required}
    return tool_schema(name or function.__name__, summary, parameters)


def tool_schema(name: str, description: str, parameters: Mapping[str, object]) -> ToolSchema:
    """A tool's schema from its parts, such as an MCP server's `name`, `description` and `inputSchema`."""
    function = {"name": name, "description": description, "parameters": dict(parameters)}
    return {"type": "function", "function": function}


def faults(value: object, schema: Mapping[str, Any], where: str = "arguments") -> list[str]:
    """What is wrong with a parsed JSON value, each as one sentence; empty when it fits.

    An object that lists its `properties` takes no others, unless `additionalProperties` says so. Keywords
    outside of the subset are not checked.

    Args:
        value: from `json.loads`.
        schema: a JSON schema.
        where: how the sentences name the value.
    """
    if "anyOf" in schema:
        branches: list[list[str]] = [faults(value, branch, where) for branch in schema["anyOf"]]
        return [] if not branches or [] in branches else min(branches, key=len)
    kinds = _kinds(schema)
    if kinds and not any(_is(value, kind) for kind in kinds):
        return [f"{where} must be {' or '.join(kinds)}, not {kind_of(value)} {brief(value)}"]
    found: list[str] = []
    if "enum" in schema and not any(value == item and _same(value, item) for item in schema["enum"]):
        options = ", ".join(json.dumps(item) for item in schema["enum"])
        found.append(f"{where} must be one of {options}, not {brief(value)}")
    found += _bound_faults(value, schema, where)
    if isinstance(value, dict):
        found += _object_faults(cast("dict[str, object]", value), schema, where)
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for index, item in enumerate(cast("list[object]", value)):
            found += faults(item, schema["items"], f"{where}[{index}]")
    return found


def kind_of(value: object) -> str:
    """The JSON type of a value."""
    return next((kind for kind in _PYTHON if _is(value, kind)), type(value).__name__)


def brief(value: object, max_chars: int = 60) -> str:
    """The value as JSON, cut for a sentence."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= max_chars else f"{text[:max_chars]}…"


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` with the nearest known name, or nothing."""
    near = difflib.get_close_matches(name[:100], list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _object_faults(value: Mapping[str, object], schema: Mapping[str, Any], where: str) -> list[str]:
    known: Mapping[str, Any] = schema.get("properties", {})
    extra = schema.get("additionalProperties", "properties" not in schema)
    found = [f"{where} lacks {name!r}" for name in schema.get("required", ()) if name not in value]
    for name, item in value.items():
        if name in known:
            found += faults(item, known[name], name if where == "arguments" else f"{where}.{name}")
        elif isinstance(extra, Mapping):
            found += faults(item, cast("Mapping[str, Any]", extra), f"{where}.{name[:60]}")
        elif not extra:
            found.append(f"{where} has no {name[:60]!r}{suggestion(name, known)}")
    return found


def _bound_faults(value: object, schema: Mapping[str, Any], where: str) -> list[str]:
    found: list[str] = []
    if isinstance(value, int | float) and not isinstance(value, bool):
        size, low, high, what = value, "minimum", "maximum", ""
    elif isinstance(value, str):
        size, low, high, what = len(value), "minLength", "maxLength", "the length of "
    elif isinstance(value, list):
        size, low, high, what = len(cast("list[object]", value)), "minItems", "maxItems", "the length of "
    else:
        return found
    if low in schema and size < schema[low]:
        found.append(f"{what}{where} must be at least {schema[low]}, not {brief(size)}")
    if high in schema and size > schema[high]:
        found.append(f"{what}{where} must be at most {schema[high]}, not {brief(size)}")
    return found


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    """The types a schema names; none when it names one outside of JSON's."""
    kind = schema.get("type", ())
    kinds = [kind] if isinstance(kind, str) else list(kind)
    return kinds if all(name in _PYTHON for name in kinds) else []


def _is(value: object, kind: str) -> bool:
    return isinstance(value, _PYTHON[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _same(value: object, item: object) -> bool:
    return isinstance(value, bool) == isinstance(item, bool)  # True == 1, but not in JSON


def _type_schema(hint: Any, where: str) -> dict[str, object]:
    if hint in _NAMES:
        return {"type": _NAMES[hint]}
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _type_schema(args[0], where) | _bounds(args[1:])
    if origin is Literal:
        kinds = sorted({kind_of(item) for item in args})
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(args)}
    if origin in (Union, UnionType):
        return {"anyOf": [_type_schema(arg, where) for arg in args]}
    if hint is list or origin is list:
        array: dict[str, object] = {"items": _type_schema(args[0], where)} if args else {}
        return {"type": "array"} | array
    if hint is dict or (origin is dict and args[0] is str):
        rest: dict[str, object] = (
            {"additionalProperties": _type_schema(args[1], where)} if args and args[1] is not Any else {}
        )
        return {"type": "object"} | rest
    raise TypeError(
        f"{where}: {hint} has no JSON schema here; use str, int, float, bool, Literal, list, dict"
    )


def _bounds(notes: Sequence[object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for note in notes:
        if isinstance(note, Bounds):
            pairs = (("minimum", note.minimum), ("maximum", note.maximum))
            found |= {name: value for name, value in pairs if value is not None}
    return found


def _docstring(function: Callable[..., str]) -> tuple[str, dict[str, str]]:
    """What a Google-style docstring says of the function and of each argument."""
    summary: list[str] = []
    told: dict[str, str] = {}
    section = ""
    for line in (inspect.getdoc(function) or "").splitlines():
        header = _SECTION.match(line)
        argument = _ARGUMENT.match(line)
        if header:
            section = header[1]
        elif not section:
            summary.append(line.strip())
        elif section == "Args" and argument:
            told[argument[1]] = argument[2].strip()
        elif section == "Args" and told and line.strip():
            last = next(reversed(told))
            told[last] = f"{told[last]} {line.strip()}"
    return " ".join(summary).strip(), told
