"""Searches over files: the results are those of all texts in memory, and of a slow sort."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from molt_envs.errors import DataError
from molt_envs.tools.text_index import IndexWriter, digest, open_index
from molt_envs.tools.text_postings import Postings, best_rows
from molt_envs.tools.text_search import TextSearch

# from words that most texts have to words that a few have
VOCABULARY = [f"w{number}" for number in range(300) for _ in range(1 + 600 // (number + 1))]


def random_texts(num_texts: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(VOCABULARY, k=rng.randrange(30))) for _ in range(num_texts)]


def write(folder: Path, texts: list[str], num_chunk: int = 1000) -> TextSearch:
    folder.mkdir(exist_ok=True)
    writer = IndexWriter(folder, num_chunk)
    for text in texts:
        writer.add(text)
    writer.finish()
    return open_index(folder)


def test_a_search_over_files_finds_what_one_in_memory_finds(tmp_path: Path) -> None:
    texts = random_texts(3000)
    on_disk, in_memory = write(tmp_path, texts), TextSearch(texts)
    assert on_disk.num_texts == 3000
    for query in random_texts(300, seed=1):
        assert on_disk.top(query, 20) == in_memory.top(query, 20)


def test_the_size_of_a_chunk_changes_nothing(tmp_path: Path) -> None:
    texts = random_texts(500)
    write(tmp_path / "a", texts, num_chunk=1)
    write(tmp_path / "b", texts, num_chunk=10**6)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["impacts.npy", "num_texts.npy", "rows.npy", "starts.npy", "terms.npy"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def slow_best(postings: Postings, terms: list[int], num_results: int) -> list[int]:
    """All rows sorted by the sum of their impacts."""
    scores: dict[int, np.float32] = {}
    for term in terms:
        rows, impacts = postings.of(term)
        for row, impact in zip(rows.tolist(), impacts, strict=True):
            scores[row] = scores.get(row, np.float32(0)) + impact
    return sorted(scores, key=lambda row: (-scores[row], row))[:num_results]


@pytest.mark.parametrize("num_results", [1, 7, 50])
@pytest.mark.parametrize("num_terms", [1, 2, 5, 12])
def test_the_best_rows_are_those_of_a_full_sort(num_results: int, num_terms: int) -> None:
    postings = TextSearch(random_texts(2000))._postings
    rng = random.Random(num_terms)
    for _ in range(10):
        found = [postings.find(word) for word in rng.choices(VOCABULARY, k=num_terms)]
        terms = [term for term in found if term is not None]
        assert list(best_rows(postings, terms, num_results)) == slow_best(postings, terms, num_results)


@pytest.mark.parametrize(
    ("words", "num_results"),
    [(["text"], 5), (["rare", "text"], 5), (["rare"], 50), (["rare", "other"], 50), (["same", "same"], 299)],
)
def test_it_holds_for_equal_scores_and_for_few_hits(words: list[str], num_results: int) -> None:
    postings = TextSearch(["same text"] * 300 + ["rare"] * 3 + ["other text"] * 300)._postings
    terms = [term for word in words if (term := postings.find(word)) is not None]
    assert list(best_rows(postings, terms, num_results)) == slow_best(postings, terms, num_results)


def test_an_index_without_words_finds_nothing(tmp_path: Path) -> None:
    assert write(tmp_path, ["", "the of"]).top("anything", 5) == ()


def test_the_digest_of_a_term_never_changes() -> None:
    assert digest("lamp") == 7711560049442028586


def test_a_broken_index_is_named(tmp_path: Path) -> None:
    write(tmp_path, ["lamp"])
    (tmp_path / "rows.npy").write_bytes(b"")
    with pytest.raises(DataError, match=r"rows\.npy.*build it again"):
        open_index(tmp_path)
