"""Reads a decoded message field by field, so that an error names the field that is wrong.

In: what a msgpack, JSON or Parquet decoder gave. Out: values of the declared types, or a `ProtocolError`.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from molt_envs.errors import ProtocolError

G = TypeVar("G", bound=np.generic)

DTYPE_NAMES = {"int32": "<i4", "float32": "<f4", "bool": "|b1", "uint8": "|u1", "int16": "<i2"}
"""numpy's name of each dtype on the wire: little-endian, C order."""


class Fields:
    """The fields of one map. Every field must be read once; `done` refuses those that nobody asked for.

    Args:
        value: the decoded map.
        where: path of the map for messages, such as `segments[2]`; empty for the episode itself.
    """

    def __init__(self, value: object, where: str = "") -> None:
        if not isinstance(value, Mapping):
            raise ProtocolError(f"{where or 'an episode'} is {_kind(value)}, not a map")
        self._left: dict[object, object] = dict(cast("Mapping[object, object]", value))
        self._where = where

    def path(self, key: str) -> str:
        """The field's full name."""
        return f"{self._where}.{key}" if self._where else key

    def take(self, key: str) -> object:
        """The field's value as decoded; a missing field is an error."""
        if key not in self._left:
            raise ProtocolError(f"field {self.path(key)} is missing")
        return self._left.pop(key)

    def done(self) -> None:
        """Refuse fields that this version does not know."""
        if self._left:
            raise ProtocolError(f"unknown field {self.path(str(next(iter(self._left))))}")

    def text(self, key: str) -> str:
        """A string."""
        value = self.take(key)
        if not isinstance(value, str):
            raise self._wrong(key, value, "a string")
        return value

    def integer(self, key: str) -> int:
        """An integer; true and false are none."""
        value = self.take(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(key, value, "an integer")
        return value

    def optional_integer(self, key: str) -> int | None:
        """An integer or null."""
        return None if self._is_null(key) else self.integer(key)

    def number(self, key: str) -> float:
        """A finite number, as a float."""
        return _number(self.take(key), self.path(key))

    def optional_number(self, key: str) -> float | None:
        """A finite number or null."""
        return None if self._is_null(key) else self.number(key)

    def optional_bool(self, key: str) -> bool | None:
        """True, false or null."""
        value = self.take(key)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(key, value, "true, false or null")
        return value

    def items(self, key: str) -> list[object]:
        """A list."""
        value = self.take(key)
        if not isinstance(value, list | tuple):
            raise self._wrong(key, value, "a list")
        return list(cast("Sequence[object]", value))

    def numbers_or_nulls(self, key: str) -> tuple[float | None, ...]:
        """A list of finite numbers and nulls."""
        path = self.path(key)
        return tuple(
            None if item is None else _number(item, f"{path}[{index}]")
            for index, item in enumerate(self.items(key))
        )

    def texts_or_nulls(self, key: str) -> tuple[str | None, ...]:
        """A list of strings and nulls."""
        found: list[str | None] = []
        for index, item in enumerate(self.items(key)):
            if item is not None and not isinstance(item, str):
                raise ProtocolError(f"field {self.path(key)}[{index}] is {_kind(item)}, not a string or null")
            found.append(item)
        return tuple(found)

    def ranges(self, key: str) -> tuple[tuple[int, int], ...]:
        """A list of pairs of integers."""
        found: list[tuple[int, int]] = []
        for index, item in enumerate(self.items(key)):
            match item:
                case [int(start), int(end)] if not isinstance(start, bool) and not isinstance(end, bool):
                    found.append((start, end))
                case _:
                    raise ProtocolError(f"field {self.path(key)}[{index}] is {item!r}, not two integers")
        return tuple(found)

    def text_map(self, key: str) -> dict[str, str]:
        """A map of strings to strings."""
        value = self.take(key)
        if not isinstance(value, Mapping):
            raise self._wrong(key, value, "a map")
        found: dict[str, str] = {}
        for name, text in cast("Mapping[object, object]", value).items():
            if not isinstance(name, str) or not isinstance(text, str):
                raise ProtocolError(
                    f"field {self.path(key)} maps {name!r} to {_kind(text)}, not string to string"
                )
            found[name] = text
        return found

    def array(self, key: str, dtype: type[G], ndim: int = 1) -> NDArray[G]:
        """An array of exactly this dtype and number of axes; lists of numbers are accepted for one axis."""
        value = self.take(key)
        path = self.path(key)
        if isinstance(value, list | tuple):
            array: NDArray[Any] = _from_list(cast("Sequence[object]", value), np.dtype(dtype), path)
        elif isinstance(value, Mapping):
            array = _from_map(cast("Mapping[object, object]", value), np.dtype(dtype), path)
        else:
            raise self._wrong(key, value, "an array")
        if array.ndim != ndim:
            raise ProtocolError(f"field {path} has {array.ndim} axes, not {ndim}")
        return array

    def optional_array(self, key: str, dtype: type[G], ndim: int = 1) -> NDArray[G] | None:
        """An array or null."""
        return None if self._is_null(key) else self.array(key, dtype, ndim)

    def _is_null(self, key: str) -> bool:
        if self._left.get(key, 0) is None:
            del self._left[key]
            return True
        return False

    def _wrong(self, key: str, value: object, wanted: str) -> ProtocolError:
        return ProtocolError(f"field {self.path(key)} is {_kind(value)}, not {wanted}")


def _kind(value: object) -> str:
    return "null" if value is None else f"of type {type(value).__name__}"


def _number(value: object, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProtocolError(f"field {path} is {_kind(value)}, not a number")
    try:
        number = float(value)
    except OverflowError as error:
        raise ProtocolError(f"field {path} is {value}, too large for a float") from error
    if not math.isfinite(number):
        raise ProtocolError(f"field {path} is {number}, not a finite number")
    return number


def _from_list(values: Sequence[object], dtype: np.dtype[Any], path: str) -> NDArray[Any]:
    wanted = {"b": bool, "i": int, "u": int, "f": (int, float)}[dtype.kind]
    for index, value in enumerate(values):
        if not isinstance(value, wanted) or (dtype.kind != "b" and isinstance(value, bool)):
            raise ProtocolError(f"field {path}[{index}] is {_kind(value)}, which is not a {dtype} number")
    try:
        with np.errstate(over="raise"):
            return np.array(values, dtype=dtype)
    except (OverflowError, FloatingPointError) as error:
        raise ProtocolError(f"field {path} has a number that {dtype} cannot hold") from error


def _from_map(value: Mapping[object, object], dtype: np.dtype[Any], path: str) -> NDArray[Any]:
    fields = Fields(value, path)
    name, shape, data = fields.text("dtype"), fields.items("shape"), fields.take("data")
    fields.done()
    if name != DTYPE_NAMES[dtype.name]:
        raise ProtocolError(f"field {path} has dtype {name!r}, not {DTYPE_NAMES[dtype.name]!r}")
    sizes = [size for size in shape if isinstance(size, int) and not isinstance(size, bool) and size >= 0]
    if len(sizes) != len(shape):
        raise ProtocolError(f"field {path} has shape {shape}, not a list of sizes")
    if isinstance(data, str):
        try:
            data = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ProtocolError(f"field {path} has data that is not base64: {error}") from error
    if not isinstance(data, bytes):
        raise ProtocolError(f"field {path}.data is {_kind(data)}, not bytes")
    if len(data) != math.prod(sizes) * dtype.itemsize:
        raise ProtocolError(f"field {path} has {len(data)} bytes for shape {sizes} of {dtype}")
    if dtype.kind == "b" and data.translate(None, b"\x00\x01"):
        raise ProtocolError(f"field {path} has bytes other than 0 and 1")
    return np.frombuffer(data, dtype=name).astype(dtype, copy=True).reshape(sizes)
