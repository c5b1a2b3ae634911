"""BM25 over a fixed set of texts: words in, rows out.

In: one text per row. Out: the rows of the best texts for a query, ties by row. The impact of each posting is
computed once, so that a query is a vector addition per term and a short sort. Large sets are written to a
folder once and then read from it (`text_index`). Stop words and stemming rules are data (`stemmer.json`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from molt_envs.tools.text_postings import Postings, best_rows

K1, B = 0.9, 0.4
NUM_REMEMBERED = 500_000
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_VOWEL = re.compile(r"[aeiouy]")
_VOWELS_CONSONANTS = re.compile(r"[aeiouy]+[^aeiouy]+")


def words(text: str) -> list[str]:
    """Lower-case words of `text` without signs and possessive endings."""
    found = _WORD.findall(text.lower().replace("\u2019", "'"))
    return [word.removesuffix("'s") for word in found] if "'" in text or "\u2019" in text else found


def stem(word: str) -> str:
    """Porter-style stem of a lower-case word.

    Each step of the table replaces its first suffix whose stem has a vowel, if that has enough sequences of
    vowels and consonants, as in M. F. Porter, "An algorithm for suffix stripping" (1980). Unlike there, a
    final `e` is never restored, so that `hop` and `hope` are one.
    """
    for rules in _tables()["steps"] if len(word) > 2 else ():
        for suffix, replacement, measure in rules:
            rest = word.removesuffix(suffix)
            if rest != word and _VOWEL.search(rest):
                if len(_VOWELS_CONSONANTS.findall(rest)) >= measure:
                    word = rest + replacement
                break
    return word


@cache
def _tables() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("stemmer.json").read_text("utf-8"))


class Terms:
    """Cuts texts into terms: the stems of words that are no stop words. Remembers stems."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}  # word to term; no term for a stop word

    def of(self, text: str, remember: bool = True) -> list[str]:
        """Terms of a text in order; with `remember`, the stems of new words are kept."""
        known = self._known
        if len(known) > NUM_REMEMBERED:
            known.clear()
        found: list[str] = []
        for word in words(text):
            term = known.get(word)
            if term is None:
                term = stem(word)
                term = "" if term in _tables()["stop_words"] else term
                if remember:
                    known[word] = term
            if term:
                found.append(term)
        return found


class TextSearch:
    """Ranks texts by Okapi BM25 as in Lucene (k1 0.9, b 0.4), but with exact lengths of texts.

    Args:
        texts: one per row.
        postings: made before, in place of texts.
    """

    def __init__(self, texts: Iterable[str] = (), postings: Postings | None = None) -> None:
        self._terms = Terms()
        self._postings = postings or _in_memory(texts, self._terms)

    @property
    def num_texts(self) -> int:
        """Number of rows."""
        return self._postings.num_texts

    def top(self, query: str, num_results: int) -> tuple[int, ...]:
        """At most `num_results` rows, best first; only those that share a term with the query."""
        numbers = [self._postings.find(term) for term in self._terms.of(query, remember=False)]
        return best_rows(self._postings, [each for each in numbers if each is not None], num_results)


class Weights:
    """The factors of a posting's impact: its term's rarity and its text's length.

    Args:
        frequency_T: number of texts that have each term.
        length_D: number of terms of each text.
    """

    def __init__(self, frequency_T: np.ndarray, length_D: np.ndarray) -> None:
        num_texts = len(length_D)
        self._idf_T = np.log1p((num_texts - frequency_T + 0.5) / (frequency_T + 0.5))
        length_D = length_D.astype(np.float64)
        self._norm_D = K1 * (1 - B + B * length_D / max(1.0, length_D.sum() / max(1, num_texts)))

    def impacts(self, ids_P: np.ndarray, rows_P: np.ndarray, counts_P: np.ndarray) -> np.ndarray:
        """float32 impacts of postings, by term, text and number of times that the one is in the other."""
        return (self._idf_T[ids_P] * counts_P / (counts_P + self._norm_D[rows_P])).astype(np.float32)


def _in_memory(texts: Iterable[str], terms: Terms) -> Postings:
    numbers: dict[str, int] = {}
    ids, rows, counts, lengths = list[int](), list[int](), list[int](), list[int]()
    for row, text in enumerate(texts):
        found = Counter(terms.of(text))
        lengths.append(found.total())
        for term, count in found.items():
            ids.append(numbers.setdefault(term, len(numbers)))
            rows.append(row)
            counts.append(count)
    id_P, row_P, count_P = np.array(ids, np.int32), np.array(rows, np.int32), np.array(counts, np.float64)
    frequency_T = np.bincount(id_P, minlength=len(numbers))
    order_P = np.argsort(id_P, kind="stable")
    impacts_P = Weights(frequency_T, np.array(lengths)).impacts(id_P, row_P, count_P)[order_P]
    starts = [0, *np.cumsum(frequency_T).tolist()]
    return Postings(len(lengths), numbers.get, starts, row_P[order_P], impacts_P)
