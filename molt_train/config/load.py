"""Reads a recipe and its overrides.

In: a recipe's name in the package or a path to a TOML file, and overrides `section.key=value`. Out: a
`Config`, or a `ConfigError` that lists everything that is wrong.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from molt_train.config.base import ConfigError
from molt_train.config.config import Config
from molt_train.config.explain import explain, suggest


def recipe_names() -> list[str]:
    """Names of the recipes in the package, sorted."""
    folder = resources.files("molt_train") / "recipes"
    return sorted(
        entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")
    )


def load_config(recipe: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read a recipe, apply the overrides in order, validate.

    Args:
        recipe: a name from `recipe_names()`, or a path that ends in `.toml` or holds a slash.
        overrides: `section.key=value`; the value is read as TOML, and as a plain string where it is not TOML.

    Raises:
        ConfigError: unknown recipe, broken TOML, unknown section or key, wrong type, value out of range.
    """
    text, origin = _read(recipe)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{origin} is not valid TOML: {error}") from error
    for override in overrides:
        _apply(values, override)
    return parse_config(values, origin)


def parse_config(values: Mapping[str, Any], origin: str = "configuration") -> Config:
    """Validate nested plain values. Raises `ConfigError`; `origin` names the source in it."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        problems = [explain(problem, Config) for problem in error.errors(include_url=False)]
        raise ConfigError(f"{origin}: " + "\n".join(dict.fromkeys(problems))) from None


def _read(recipe: str | Path) -> tuple[str, str]:
    path = Path(recipe)
    if isinstance(recipe, Path) or recipe.endswith(".toml") or "/" in recipe:
        if not path.is_file():
            raise ConfigError(f"no recipe file {path}; recipes in the package: {', '.join(recipe_names())}")
        return _decode(path.read_bytes(), str(path)), str(path)
    names = recipe_names()
    if recipe not in names:
        raise ConfigError(f"no recipe {recipe!r} and it is no path to a .toml file{suggest(recipe, names)}")
    origin = f"recipe {recipe}"
    return _decode(
        (resources.files("molt_train") / "recipes" / f"{recipe}.toml").read_bytes(), origin
    ), origin


def _decode(data: bytes, origin: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{origin} is not UTF-8 text: {error}") from error


def _apply(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not equals or len(parts) < 2 or not all(parts):
        raise ConfigError(
            f"override {override!r} is not of the form section.key=value, e.g. rollout.group_size=8"
        )
    table = values
    for part in parts[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise ConfigError(f"override {override!r}: {part} is a value, not a section")
    table[parts[-1]] = _toml_value(text.strip())


def _toml_value(text: str) -> Any:
    """The value in TOML's notation; what is not TOML is a plain string, so that names need no quotes."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if set(parsed) == {"value"} else text
