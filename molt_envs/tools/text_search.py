"""BM25 over a fixed set of texts: words in, rows out.

In: one text per row. Out: the rows of the best texts for a query, ties by row. The impact of each posting is
computed once, so that a query is one vector addition per term and a partial sort. Stop words and stemming
rules are data (`stemmer.json`).
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

K1, B = 0.9, 0.4
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_VOWEL = re.compile(r"[aeiouy]")
_VOWELS_CONSONANTS = re.compile(r"[aeiouy]+[^aeiouy]+")


def words(text: str) -> list[str]:
    """Lower-case words of `text` without signs and possessive endings."""
    return [word.removesuffix("'s") for word in _WORD.findall(text.lower().replace("\u2019", "'"))]


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


class TextSearch:
    """Postings of all terms in flat arrays.

    Scores are Okapi BM25 as in Lucene (k1 0.9, b 0.4), with exact lengths of texts instead of
    Lucene's one-byte ones.

    Args:
        texts: one per row.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._stems: dict[str, str] = {}
        self._term_ids: dict[str, int] = {}
        ids: list[int] = []
        rows: list[int] = []
        counts: list[int] = []
        lengths: list[int] = []
        for row, text in enumerate(texts):
            found = Counter(self._terms(text, self._stems))
            lengths.append(found.total())
            for term, count in found.items():
                ids.append(self._term_ids.setdefault(term, len(self._term_ids)))
                rows.append(row)
                counts.append(count)
        self.num_texts = len(lengths)
        id_P, row_P, count_P = np.array(ids, np.int32), np.array(rows, np.int32), np.array(counts, np.float64)
        length_D = np.array(lengths, np.float64)
        frequency_T = np.bincount(id_P, minlength=len(self._term_ids))
        idf_T = np.log1p((self.num_texts - frequency_T + 0.5) / (frequency_T + 0.5))
        norm_D = K1 * (1 - B + B * length_D / max(1.0, length_D.sum() / max(1, self.num_texts)))
        order_P = np.argsort(id_P, kind="stable")
        self._rows_P = row_P[order_P]
        self._impacts_P = (idf_T[id_P] * count_P / (count_P + norm_D[row_P]))[order_P].astype(np.float32)
        self._starts_T: list[int] = [0, *np.cumsum(frequency_T).tolist()]

    def top(self, query: str, num_results: int) -> tuple[int, ...]:
        """At most `num_results` rows, best first; only those that share a term with the query."""
        score_D = np.zeros(self.num_texts, np.float32)
        for term in self._terms(query, {}):
            number = self._term_ids.get(term)
            if number is not None:
                part = slice(self._starts_T[number], self._starts_T[number + 1])
                score_D[self._rows_P[part]] += self._impacts_P[part]
        least = np.float32(0)
        if self.num_texts > num_results:
            least = np.partition(score_D, -num_results)[-num_results]
        rows = np.flatnonzero(score_D >= least if least > 0 else score_D > 0)
        best = rows[np.argsort(-score_D[rows], kind="stable")]
        return tuple(best[:num_results].tolist())

    def _terms(self, text: str, memory: dict[str, str]) -> list[str]:
        """Stems of the words that are no stop words; `memory` takes the stems of words not met before."""
        found: list[str] = []
        for word in words(text):
            term = self._stems.get(word) or memory.get(word)
            if term is None:
                term = memory[word] = stem(word)
            found.append(term)
        stop_words = _tables()["stop_words"]
        return [term for term in found if term not in stop_words]
