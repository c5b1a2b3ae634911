"""A text search that lies in files: written once, in bounded memory, then mapped and shared by all processes.

In: texts, one after the other. Out: a folder of arrays, and a `TextSearch` over it whose results are those of
one in memory. A term is known by a 64-bit digest.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np

from molt_envs.errors import DataError
from molt_envs.tools.text_postings import Postings
from molt_envs.tools.text_search import Terms, TextSearch, Weights

NUM_POSTINGS_A_CHUNK = 4_000_000
_ARRAYS = ("terms", "starts", "rows", "impacts", "num_texts")


def digest(term: str) -> int:
    """The number under which a term is filed."""
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def open_array(path: Path) -> np.ndarray:
    """An array of a file, mapped read-only.

    Raises:
        DataError: it is missing or broken.
    """
    try:
        return np.load(path, mmap_mode="r").view(np.ndarray)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}; delete its folder and build it again") from error


def open_index(folder: Path) -> TextSearch:
    """The search of a folder that an `IndexWriter` has finished; raises `DataError` as `open_array` does."""
    return TextSearch(postings=open_postings(folder))


def open_postings(folder: Path) -> Postings:
    """What such a folder holds, to be looked up by terms as they were added."""
    term_T, start_T, row_P, impact_P, num_texts = (open_array(folder / f"{name}.npy") for name in _ARRAYS)

    def find(term: str) -> int | None:
        wanted = np.uint64(digest(term))
        place = int(np.searchsorted(term_T, wanted))
        return place if place < len(term_T) and term_T[place] == wanted else None

    return Postings(int(num_texts[0]), find, start_T, row_P, impact_P)


def _new_array(path: Path, kind: type[np.generic], length: int) -> np.memmap[Any, Any]:
    new = np.lib.format.open_memmap(path, "w+", kind, (length,))  # pyright: ignore
    return cast("np.memmap[Any, Any]", new)


class IndexWriter:
    """Writes an index: `add` each text, then `finish`.

    Args:
        folder: an empty folder; takes about 8 bytes for each posting, twice that while it is written.
        num_chunk: postings held in memory.
    """

    def __init__(self, folder: Path, num_chunk: int = NUM_POSTINGS_A_CHUNK) -> None:
        self._folder, self._num_chunk = folder, num_chunk
        self._terms = Terms()
        self._numbers: dict[str, int] = {}
        self._lengths, self._widths = array("i"), array("i")
        self._ids, self._counts = array("i"), array("i")
        self._spill = folder / "postings.tmp"
        self._ends = [0]  # rows up to which each chunk reaches

    def add(self, text: str) -> None:
        """The text of the next row."""
        self.add_terms(self._terms.of(text))

    def add_terms(self, terms: Iterable[str]) -> None:
        """The next row as it will be looked up, term by term."""
        found = Counter(terms)
        self._lengths.append(found.total())
        self._widths.append(len(found))
        numbers = self._numbers
        self._ids.extend([numbers.setdefault(term, len(numbers)) for term in found])
        self._counts.extend(found.values())
        if len(self._ids) >= self._num_chunk:
            self._write_chunk()

    def finish(self) -> None:
        """Sort the postings by term and write all arrays."""
        self._write_chunk()
        term_T = np.fromiter(map(digest, self._numbers), np.uint64, len(self._numbers))
        order_T = np.argsort(term_T)
        term_T = term_T[order_T]
        if (term_T[1:] == term_T[:-1]).any():
            raise DataError("two terms of the texts have one 64-bit digest; leave one of them out")
        number_T = np.empty(len(order_T), np.int32)
        number_T[order_T] = np.arange(len(order_T), dtype=np.int32)
        frequency_T = np.zeros(len(order_T), np.int64)
        for ids_P, _, _ in self._chunks():
            frequency_T += np.bincount(number_T[ids_P], minlength=len(order_T))
        start_T = np.concatenate([[0], np.cumsum(frequency_T)])
        self._write_postings(number_T, frequency_T, start_T)
        named = {"terms": term_T, "starts": start_T, "num_texts": np.array([len(self._lengths)])}
        for name, values in named.items():
            np.save(self._folder / f"{name}.npy", values)
        self._spill.unlink()

    def _write_postings(self, number_T: np.ndarray, frequency_T: np.ndarray, start_T: np.ndarray) -> None:
        """A counting sort through files: each chunk fills the next free places of its terms."""
        weights = Weights(frequency_T, np.array(self._lengths))
        next_T = start_T[:-1].copy()
        row_P = _new_array(self._folder / "rows.npy", np.int32, int(start_T[-1]))
        impact_P = _new_array(self._folder / "impacts.npy", np.float32, int(start_T[-1]))
        for ids_P, rows_P, counts_P in self._chunks():
            numbers_P = number_T[ids_P]
            impacts_P = weights.impacts(numbers_P, rows_P, counts_P)
            order_P = np.argsort(numbers_P, kind="stable")
            sorted_P = numbers_P[order_P]
            first_P = np.flatnonzero(np.concatenate([[True], sorted_P[1:] != sorted_P[:-1]]))
            found = sorted_P[first_P]
            lengths = np.diff(np.append(first_P, len(sorted_P)))
            places_P = np.arange(len(sorted_P)) + np.repeat(next_T[found] - first_P, lengths)
            row_P[places_P], impact_P[places_P] = rows_P[order_P], impacts_P[order_P]
            next_T[found] += lengths
        row_P.flush()
        impact_P.flush()

    def _write_chunk(self) -> None:
        with self._spill.open("ab") as file:
            self._ids.tofile(file)
            self._counts.tofile(file)
        self._ends.append(len(self._lengths))
        self._ids, self._counts = array("i"), array("i")

    def _chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Terms in the order of their first text, rows, and counts of all postings, chunk by chunk."""
        with self._spill.open("rb") as file:
            for first, end in pairwise(self._ends):
                widths_D = np.array(self._widths[first:end], np.int64)
                num = int(widths_D.sum())
                if not num:
                    continue
                ids_P, counts_P = (np.frombuffer(file.read(4 * num), np.int32) for _ in range(2))
                yield ids_P, np.repeat(np.arange(first, end, dtype=np.int32), widths_D), counts_P
