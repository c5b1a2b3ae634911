"""BM25 by a slow sum, ties, stems."""

from __future__ import annotations

import math

import pytest

from molt_envs.tools.text_search import K1, B, TextSearch, stem, words

TEXTS = ["red cotton shirt", "blue cotton shirt with long sleeves", "red lamp", "the lamp's stand", ""]


def slow_ranking(query: str, texts: list[str]) -> list[int]:
    """Okapi BM25 written out."""
    bags = [[stem(word) for word in words(text) if word not in ("the", "with")] for text in texts]
    average = sum(map(len, bags)) / len(bags)
    scores: list[float] = []
    for bag in bags:
        score = 0.0
        for term in map(stem, words(query)):
            num_with = sum(term in other for other in bags)
            idf = math.log(1 + (len(bags) - num_with + 0.5) / (num_with + 0.5))
            count = bag.count(term)
            score += idf * count / (count + K1 * (1 - B + B * len(bag) / average))
        scores.append(score)
    return [row for row in sorted(range(len(bags)), key=lambda row: -scores[row]) if scores[row] > 0]


@pytest.mark.parametrize(
    "query", ["red", "cotton shirts", "lamps red red", "long-sleeved shirt", "Lamp stand", "x"]
)
def test_ranking_equals_the_slow_sum(query: str) -> None:
    assert list(TextSearch(TEXTS).top(query, 10)) == slow_ranking(query, TEXTS)


def test_equal_scores_are_in_the_order_of_rows_also_at_the_cut() -> None:
    search = TextSearch(["same text"] * 30)
    assert search.top("text", 5) == (0, 1, 2, 3, 4)
    assert search.top("text", 30) == tuple(range(30))


def test_fewer_hits_than_asked_for() -> None:
    search = TextSearch(["apple", "pear"] + ["plum"] * 20)
    assert search.top("pear", 5) == (1,)
    assert search.top("", 5) == ()
    assert search.top("the of", 5) == ()


def test_no_texts_no_hits() -> None:
    assert TextSearch([]).top("anything", 5) == ()


def test_a_query_teaches_the_index_no_words() -> None:
    search = TextSearch(TEXTS)
    before = search.top("red cotton", 5)
    for number in range(50):
        search.top(f"word{number} red", 5)
    assert search.top("red cotton", 5) == before


@pytest.mark.parametrize(
    ("group", "root"),
    [
        (("connect", "connected", "connecting", "connection", "connections"), "connect"),
        (("run", "running", "runs"), "run"),
        (("pony", "ponies"), "poni"),
        (("relate", "related", "relating"), "relat"),
        (("shoe", "shoes"), "shoe"),
        (("dress", "dresses"), "dress"),
        (("sky",), "sky"),
        (("ring",), "ring"),
        (("ed",), "ed"),
        (("日本",), "日本"),
    ],
)
def test_stems(group: tuple[str, ...], root: str) -> None:
    assert {stem(word) for word in group} == {root}


def test_words_lose_case_signs_and_possessives() -> None:
    assert words("Women\u2019s SIZE 5.5 (x-large)") == ["women", "size", "5", "5", "x", "large"]
