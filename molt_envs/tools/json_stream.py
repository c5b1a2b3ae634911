"""The elements of a JSON array or object in a file of any size, one after the other.

In: a file. Out: each element's key and value, and the bytes where it lies, so that it can be read again by
itself.
"""

import codecs
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from molt_envs.errors import DataError

NUM_CHUNK_BYTES = 2**22
MAX_ELEMENT_CHARS = 2**26
Element = tuple[str, Any, int, int]
"""Key (empty in an array), value, first byte, byte after the last."""


def stream_json(path: Path, opening: str, report: Callable[[int], None] | None = None) -> Iterator[Element]:
    """Read a file whose outermost value is an array (`opening` is `[`) or an object (`{`); null is empty.

    Args:
        path: of the file, in UTF-8.
        opening: its first sign.
        report: called with the number of bytes read, from time to time.

    Raises:
        DataError: the file cannot be read, is no JSON or holds something else; names the file and the byte.
    """
    try:
        with path.open("rb") as file:
            yield from _Stream(file, report).elements(opening)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON: {error}; fetch or write it again") from error


class _Stream:
    def __init__(self, file: BinaryIO, report: Callable[[int], None] | None) -> None:
        self._file, self._report = file, report
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogatepass").decode
        self._text, self._at, self._offset, self._ended = "", 0, 0, False

    def elements(self, opening: str) -> Iterator[Element]:
        if self._next() == "\ufeff":
            self._take(1)
        if self._next() == "n" and self._value() is None:
            return
        if self._next() != opening:
            kind = {"[": "an array", "{": "an object"}[opening]
            raise ValueError(f"expected {kind} at byte {self._offset}, got {self._text[self._at :][:40]!r}")
        closing = "]" if opening == "[" else "}"
        self._take(1)
        while self._next() != closing:
            key = ""
            if opening == "{":
                key = self._value()
                self._expect(":")
                if not isinstance(key, str):
                    raise ValueError(f"expected a name before byte {self._offset}, got {key!r:.40}")
                self._next()
            start = self._offset
            value = self._value()
            yield key, value, start, self._offset
            if self._next() != closing:
                self._expect(",")
                if self._next() == closing:
                    raise ValueError(f"expected an element at byte {self._offset}, got {closing!r}")
        self._take(1)
        if self._next():
            raise ValueError(f"expected the end at byte {self._offset}, got {self._text[self._at :][:40]!r}")

    def _value(self) -> Any:
        num_bytes = NUM_CHUNK_BYTES
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                # the text so far may end within a number, of which a part is a number too
                if self._ended or (end < len(self._text) and self._text[end] not in ".eE"):
                    self._take(end - self._at)
                    return value
            except json.JSONDecodeError as error:
                if self._ended or len(self._text) - self._at > MAX_ELEMENT_CHARS:
                    raise ValueError(f"{error.msg} in what begins at byte {self._offset}") from error
            self._more(num_bytes)
            num_bytes *= 2

    def _expect(self, sign: str) -> None:
        if self._next() != sign:
            found = self._text[self._at :][:40]
            raise ValueError(f"expected {sign!r} at byte {self._offset}, got {found!r}")
        self._take(1)

    def _next(self) -> str:
        """The next sign that is no white space; empty at the end."""
        while True:
            at = self._at
            while at < len(self._text) and self._text[at] in " \t\n\r":
                at += 1
            self._offset += at - self._at
            self._at = at
            if at < len(self._text):
                return self._text[at]
            if self._ended:
                return ""
            self._more(NUM_CHUNK_BYTES)

    def _take(self, num_chars: int) -> None:
        taken = self._text[self._at : self._at + num_chars]
        self._offset += num_chars if taken.isascii() else len(taken.encode("utf-8", "surrogatepass"))
        self._at += num_chars

    def _more(self, num_bytes: int) -> None:
        chunk = self._file.read(num_bytes)
        self._ended = not chunk
        self._text = self._text[self._at :] + self._decode(chunk, final=self._ended)
        self._at = 0
        if self._report:
            self._report(self._file.tell())


_DECODER = json.JSONDecoder()
