"""A Gymnasium space for arbitrary Unicode text, right in single, sync and async vector environments.

In: `str` observations and actions. Out: the same strings, also through `AsyncVectorEnv`'s shared memory,
where `gymnasium.spaces.Text` would give zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_char
from typing import Any, overload

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Dict
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


def observation_space(max_chars: int, image_size: tuple[int, int] | None = None) -> Space[Any]:
    """Where the observations of an environment lie: text, or a dict of `text` and `image`.

    Args:
        max_chars: most characters of the text.
        image_size: height and width of the images, (height, width, 3) uint8; None for text alone.
    """
    text = UnicodeText(max_chars)
    if image_size is None:
        return text
    return Dict({"image": Box(0, 255, (*image_size, 3), np.uint8), "text": text})


class SharedTexts(Sequence[str]):
    """The texts that lie in shared memory now, one per environment; `copy.deepcopy` gives them as a tuple.

    Gymnasium reads the memory once and copies what it got after every step, so this must be a live view.
    """

    def __init__(self, shared_memory: Any, num_texts: int, slot_bytes: int) -> None:
        self._buffer = memoryview(shared_memory.get_obj()).cast("B")
        self._num_texts = num_texts
        self._slot_bytes = slot_bytes

    def __len__(self) -> int:
        return self._num_texts

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(self._num_texts)))
        start = range(self._num_texts)[index] * self._slot_bytes
        text_start = start + _LENGTH_BYTES
        num_bytes = int.from_bytes(self._buffer[start:text_start], "little")
        return bytes(self._buffer[text_start : text_start + num_bytes]).decode("utf-8", "surrogatepass")

    def __eq__(self, other: object) -> bool:
        mine = tuple(self)
        return mine == (tuple(other) if isinstance(other, SharedTexts) else other)

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


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


@read_from_shared_memory.register(UnicodeText)  # pyright: ignore[reportArgumentType]
def _read(space: UnicodeText, shared_memory: Any, n: int = 1) -> SharedTexts:
    return SharedTexts(shared_memory, n, _slot_bytes(space))
