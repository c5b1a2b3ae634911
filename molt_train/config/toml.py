"""Writes a configuration as commented TOML that `load_config` reads back to an equal one.

In: a `Config`. Out: text.
"""

from __future__ import annotations

import json

from pydantic import BaseModel

from molt_train.config.base import OFF, ConfigError
from molt_train.config.config import Config
from molt_train.config.explain import bounds


def config_to_toml(config: Config, comments: bool = True) -> str:
    """Every key of every section, in order; with `comments` each is preceded by its meaning and range."""
    lines: list[str] = []
    for name, field in Config.model_fields.items():
        section = dict(config)[name]
        assert isinstance(section, BaseModel)
        lines += [f"[{name}]" + (f"  # {field.description}" if comments else "")]
        for key, entry in type(section).model_fields.items():
            if comments:
                allowed = bounds(entry)
                lines.append(f"# {entry.description}" + (f" [{allowed}]" if allowed else ""))
            lines.append(f"{key} = {_value(dict(section)[key])}")
        lines.append("")
    return "\n".join(lines)


def _value(value: object) -> str:
    match value:
        case None:
            return _string(OFF)
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int():
            return str(value)
        case float():
            return repr(value)
        case list() | tuple():
            return "[" + ", ".join(_value(item) for item in value) + "]"
        case dict():
            return "{ " + ", ".join(f"{_string(str(k))} = {_value(v)}" for k, v in value.items()) + " }"
        case _:
            raise ConfigError(f"{value!r} has no TOML form; it must be a plain value, list or table")


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
