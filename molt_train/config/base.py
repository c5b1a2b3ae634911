"""What every section of the configuration shares: frozen, no unknown keys, no silent conversions.

In: plain values as TOML gives them. Out: validated sections. `"off"` stands for None, which TOML lacks.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

OFF = "off"
_Value = TypeVar("_Value")


class ConfigError(ValueError):
    """A recipe or an override is wrong; the message names the key, the value and the mend."""


class Section(BaseModel):
    """One section; assigning to it or giving it a key it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


def _off_is_none(value: object) -> object:
    return None if value == OFF else value


OrOff = Annotated[_Value | None, BeforeValidator(_off_is_none)]
"""A value or `"off"`; read as None when off."""

Precision = Literal["none", "bfloat16"]
"""Autocast of matrix products: none, or bfloat16."""
