"""The reference of all keys, made from the models. In: the models. Out: Markdown tables."""

from __future__ import annotations

import json
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from molt_train.config.base import OFF
from molt_train.config.config import Config
from molt_train.config.explain import bounds


def reference_markdown() -> str:
    """One table per section: key, type, default, range, meaning."""
    parts: list[str] = []
    for name, field in Config.model_fields.items():
        model = field.annotation
        assert isinstance(model, type) and issubclass(model, BaseModel)
        parts += [f"### `{name}`", "", field.description or "", ""]
        parts += ["| key | type | default | range | meaning |", "|---|---|---|---|---|"]
        parts += [_row(f"{name}.{key}", entry) for key, entry in model.model_fields.items()]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _row(key: str, field: FieldInfo) -> str:
    cells = [f"`{key}`", _type(field.annotation), _default(field), bounds(field), field.description or ""]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return "required"
    return f"`{json.dumps(OFF if value is None else value)}`"


def _type(annotation: Any) -> str:
    """A type in the words of TOML."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(args[0])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in args)
    if origin in (Union, UnionType):
        return " or ".join(f"`{OFF}`" if arg is type(None) else _type(arg) for arg in args)
    if origin is tuple:
        return f"list of {_type(args[0])}" if args[-1] is Ellipsis else f"{len(args)} × {_type(args[0])}"
    if origin is dict:
        return "table"
    return {str: "string", int: "integer", float: "number", bool: "true/false"}[annotation]
