"""Which rows have a term, and how much it adds to their scores; the best rows for some terms.

In: flat arrays, in memory or mapped from files, and the numbers of a query's terms. Out: rows, best first,
ties by row. Shapes: P postings, T terms, D rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Postings:
    """Postings of all terms, ordered by term, then by row."""

    num_texts: int
    """Number of rows."""
    find: Callable[[str], int | None]
    """Number of a term; None for one that no text has."""
    starts_T: Sequence[int] | np.ndarray
    """Where each term's postings begin; one more at the end."""
    rows_P: np.ndarray
    """int32; the row of each posting."""
    impacts_P: np.ndarray
    """float32; what it adds to the row's score."""

    def of(self, term: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and impacts of a term."""
        part = slice(self.starts_T[term], self.starts_T[term + 1])
        return self.rows_P[part], self.impacts_P[part]


def best_rows(postings: Postings, terms: Sequence[int], num_results: int) -> tuple[int, ...]:
    """At most `num_results` rows that share a term, by the sum of impacts, a repeated term counting twice."""
    score_D = np.zeros(postings.num_texts, np.float32)
    found = [postings.of(term) for term in terms]
    for rows, impacts in found:
        np.add.at(score_D, rows, impacts)  # some times quicker than score_D[rows] += impacts
    least = _lower_bound(score_D, sorted((rows for rows, _ in found), key=len), num_results)
    rows = np.flatnonzero(score_D >= least if least > 0 else score_D > 0)
    best = np.argsort(-score_D.take(rows), kind="stable")[:num_results]
    return tuple(rows.take(best).tolist())


def _lower_bound(score_D: np.ndarray, lists: Sequence[np.ndarray], num_results: int) -> float:
    """A score that at least `num_results` rows reach; 0 if too few rows have a score.

    Rows with the rarest terms have the best scores, as a rule: it is enough to sort these.
    """
    seeds = np.zeros(0, np.int32)
    for rows in lists:
        seeds = np.union1d(seeds, rows) if len(seeds) else rows
        if len(seeds) >= num_results:
            return float(np.partition(score_D.take(seeds), -num_results)[-num_results])
    return 0.0
