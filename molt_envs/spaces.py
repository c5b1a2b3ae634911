"""A Gymnasium space for arbitrary Unicode text, right in single, sync and async vector environments.

In: `str` observations and actions. Out: the same strings, also through `AsyncVectorEnv`'s shared memory,
where `gymnasium.spaces.Text` would give zeros.
"""

from __future__ import annotations

from ctypes import c_char
from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.vector.utils.shared_memory import (
    create_shared_memory,  # pyright: ignore[reportUnknownVariableType]
    read_from_shared_memory,
    write_to_shared_memory,
)

_LENGTH_BYTES = 4
_BYTES_PER_CHARACTER = 4
_SURROGATES = range(0xD800, 0xE000)


class UnicodeText(Space[str]):
    """All strings of at most `max_length` characters, the empty one included.

    Args:
        max_length: most characters; the shared memory of an async vector environment is sized by it.
        seed: seed of `sample`.
    """

    def __init__(self, max_length: int = 65_536, seed: int | np.random.Generator | None = None) -> None:
        if max_length < 1:
            raise ValueError(f"max_length is {max_length}; it must be at least 1")
        self.max_length = max_length
        super().__init__(shape=None, dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Text has no flat numeric form."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A random string of up to 64 characters from all of Unicode but the surrogates."""
        if mask is not None or probability is not None:
            raise ValueError("UnicodeText.sample takes no mask and no probability")
        length = int(self.np_random.integers(0, min(self.max_length, 64) + 1))
        points = self.np_random.integers(0, 0x110000 - len(_SURROGATES), size=length)
        return "".join(chr(int(p) if p < _SURROGATES.start else int(p) + len(_SURROGATES)) for p in points)

    def contains(self, x: Any) -> bool:
        """Whether `x` is a string within the length."""
        return isinstance(x, str) and len(x) <= self.max_length

    def to_jsonable(self, sample_n: Any) -> list[str]:
        """Strings are JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Strings are JSON already."""
        return [str(sample) for sample in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and other.max_length == self.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"


def _slot_bytes(space: UnicodeText) -> int:
    return _LENGTH_BYTES + space.max_length * _BYTES_PER_CHARACTER


@create_shared_memory.register(UnicodeText)
def _create(space: UnicodeText, n: int = 1, ctx: Any = None) -> Any:
    import multiprocessing

    return (ctx or multiprocessing).Array(c_char, n * _slot_bytes(space))


@write_to_shared_memory.register(UnicodeText)
def _write(space: UnicodeText, index: int, value: str, shared_memory: Any) -> None:
    data = value.encode("utf-8", "surrogatepass")
    start = index * _slot_bytes(space)
    if len(data) + _LENGTH_BYTES > _slot_bytes(space):
        raise ValueError(f"text of {len(value)} characters exceeds max_length {space.max_length}")
    buffer = memoryview(shared_memory.get_obj()).cast("B")
    buffer[start : start + _LENGTH_BYTES] = len(data).to_bytes(_LENGTH_BYTES, "little")
    buffer[start + _LENGTH_BYTES : start + _LENGTH_BYTES + len(data)] = data


@read_from_shared_memory.register(UnicodeText)
def _read(space: UnicodeText, shared_memory: Any, n: int = 1) -> tuple[str, ...]:
    buffer = memoryview(shared_memory.get_obj()).cast("B")
    texts: list[str] = []
    for start in range(0, n * _slot_bytes(space), _slot_bytes(space)):
        length = int.from_bytes(buffer[start : start + _LENGTH_BYTES], "little")
        data = bytes(buffer[start + _LENGTH_BYTES : start + _LENGTH_BYTES + length])
        texts.append(data.decode("utf-8", "surrogatepass"))
    return tuple(texts)
