"""Which rows have a term, and how much it adds to their scores; the best rows for some terms.

In: flat arrays, in memory or mapped from files, and the numbers of a query's terms. Out: rows, best first,
ties by row. Shapes: P postings, T terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

NUM_ADDED_WHOLE = 50_000
NUM_SEEDS = 2_048
LOOK_UP_COST = 10
_SLACK = 1e-3

Found = tuple[np.ndarray, np.ndarray]


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
    most_T: np.ndarray
    """float32; the greatest impact of each term."""

    def of(self, term: int) -> Found:
        """Rows and impacts of a term."""
        part = slice(self.starts_T[term], self.starts_T[term + 1])
        return self.rows_P[part], self.impacts_P[part]


def best_rows(
    postings: Postings, terms: Sequence[int], num_results: int, num_added_whole: int = NUM_ADDED_WHOLE
) -> tuple[int, ...]:
    """At most `num_results` rows that share a term, by the sum of impacts, a repeated term counting twice.

    Up to `num_added_whole` texts all postings are added; beyond, those that can matter, with equal results.
    """
    if postings.num_texts <= num_added_whole:
        score_D = np.zeros(postings.num_texts, np.float32)
        for term in terms:
            rows, impacts = postings.of(term)
            score_D[rows] += impacts
        least = np.float32(0)
        if postings.num_texts > num_results:
            least = np.partition(score_D, -num_results)[-num_results]
        rows = np.flatnonzero(score_D >= least if least > 0 else score_D > 0)
        return _ranked(rows, score_D[rows], num_results)
    rows = _survivors(postings, terms, num_results)
    scores = np.zeros(len(rows), np.float32)
    for term in terms:  # in the query's order, so that the sums are those of the other branch to the last bit
        scores += _impacts(postings.of(term), rows)
    return _ranked(rows, scores, num_results)


def _ranked(rows: np.ndarray, scores: np.ndarray, num_results: int) -> tuple[int, ...]:
    return tuple(rows[np.argsort(-scores, kind="stable")][:num_results].tolist())


def _survivors(postings: Postings, terms: Sequence[int], num_results: int) -> np.ndarray:
    """Rows, ascending, that may be among the best: H. Turtle and J. Flood's MaxScore (1995).

    A lower bound on the last result's score comes from a few promising rows. Terms which together cannot
    reach it bring in no new rows; they are looked up only for rows that may still get there.
    """
    weights = Counter(terms)
    order = sorted(weights, key=lambda term: len(postings.of(term)[0]))
    least = _lower_bound(postings, weights, order, num_results) * (1 - _SLACK)
    most = {term: float(postings.most_T[term]) * weight for term, weight in weights.items()}
    left = sorted(weights, key=most.__getitem__)  # those that are still to be added, least first
    reach, num_optional = 0.0, 0
    while num_optional < len(left) and reach + most[left[num_optional]] < least:
        reach += most[left[num_optional]]
        num_optional += 1
    score_D = np.zeros(postings.num_texts, np.float32)
    lists: list[np.ndarray] = []
    while left:
        rows, impacts = postings.of(left[-1])
        if len(left) <= num_optional:
            lists = [listed[score_D.take(listed) >= least - reach] for listed in lists]
            if sum(map(len, lists)) * LOOK_UP_COST < len(rows):
                break
            reach -= most[left[-1]]
        else:
            lists.append(rows)
        np.add.at(score_D, rows, impacts * weights[left.pop()])  # much quicker than score_D[rows] += …
    found = np.unique(np.concatenate([*lists, np.zeros(0, np.int32)]))
    scores = score_D.take(found)
    while left:
        term = left.pop()
        reach -= most[term]
        scores += _impacts(postings.of(term), found) * weights[term]
        kept = scores >= least - reach - _SLACK
        found, scores = found[kept], scores[kept]
    return found[scores >= least - _SLACK]


def _lower_bound(postings: Postings, weights: Counter[int], order: Sequence[int], num_results: int) -> float:
    """A score that at least `num_results` rows reach; 0 where too few rows have the rarest terms."""
    rows = np.zeros(0, np.int32)
    for term in order:
        if len(rows) < num_results:
            listed = postings.of(term)[0]
            rows = np.union1d(rows, listed[:: max(1, len(listed) // NUM_SEEDS)])
    scores = np.zeros(len(rows), np.float32)
    for term in order:
        scores += _impacts(postings.of(term), rows) * weights[term]
        num_kept = max(4 * num_results, len(rows) // 2)
        if num_kept < len(rows):
            kept = np.sort(np.argpartition(scores, -num_kept)[-num_kept:])
            rows, scores = rows[kept], scores[kept]
    return float(np.partition(scores, -num_results)[-num_results]) if len(rows) >= num_results else 0.0


def _impacts(found: Found, rows: np.ndarray) -> np.ndarray:
    """The impact at each of these rows; 0 at those without the term."""
    listed, impacts = found
    places = np.minimum(np.searchsorted(listed, rows), len(listed) - 1)
    return np.where(listed[places] == rows, impacts[places], np.float32(0))
