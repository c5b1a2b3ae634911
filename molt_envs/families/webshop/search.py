"""BM25 over the products' texts: stems in, product rows out.

In: one text per product. Out: the rows of the best products, ties by row. The impact of each posting is
computed once, so that a query is one vector addition per term and a partial sort.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from molt_envs.families.webshop.language import terms

K1, B = 0.9, 0.4


class SearchIndex:
    """Postings of all terms in three flat arrays.

    Scores are Okapi BM25 as in Lucene (k1 0.9, b 0.4), with exact lengths of documents instead
    of Lucene's one-byte ones.

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
            found = Counter(terms(text, self._stems))
            lengths.append(found.total())
            for term, count in found.items():
                ids.append(self._term_ids.setdefault(term, len(self._term_ids)))
                rows.append(row)
                counts.append(count)
        self.num_documents = len(lengths)
        id_P, row_P = np.array(ids, np.int32), np.array(rows, np.int32)
        count_P = np.array(counts, np.float64)
        length_D = np.array(lengths, np.float64)
        frequency_T = np.bincount(id_P, minlength=len(self._term_ids))
        idf_T = np.log1p((self.num_documents - frequency_T + 0.5) / (frequency_T + 0.5))
        norm_D = K1 * (1 - B + B * length_D / max(1.0, float(length_D.mean()) if len(lengths) else 1.0))
        impact_P = idf_T[id_P] * count_P / (count_P + norm_D[row_P])
        order_P = np.argsort(id_P, kind="stable")
        self._rows_P = row_P[order_P]
        self._impacts_P = impact_P[order_P].astype(np.float32)
        self._starts_T = [0, *np.cumsum(frequency_T).tolist()]

    def top(self, query: str, num_results: int) -> tuple[int, ...]:
        """Rows of the best products, best first; only products that share a term with the query.

        Args:
            query: words.
            num_results: at most so many.
        """
        score_D = np.zeros(self.num_documents, np.float32)
        for term in terms(query, dict(self._stems)):
            number = self._term_ids.get(term)
            if number is not None:
                part = slice(self._starts_T[number], self._starts_T[number + 1])
                score_D[self._rows_P[part]] += self._impacts_P[part]
        if self.num_documents > num_results:
            least = np.partition(score_D, -num_results)[-num_results]
            rows = np.flatnonzero(score_D >= max(least, np.float32(1e-9)))
        else:
            rows = np.flatnonzero(score_D > 0)
        best = rows[np.argsort(-score_D[rows], kind="stable")]
        return tuple(best[:num_results].tolist())
