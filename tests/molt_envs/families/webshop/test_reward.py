"""The score of a purchase by literal values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from molt_envs.families.webshop.goals import Goal
from molt_envs.families.webshop.language import plain_color, title_nouns
from molt_envs.families.webshop.products import Product
from molt_envs.families.webshop.reward import score_purchase

SHIRT = Product(
    asin="B000000001",
    title="Acme Cotton Shirt",
    price=19.99,
    price_tag="$19.99",
    category="fashion",
    query="shirts",
    path=frozenset({"Clothing", "Men", "Shirts"}),
    bullets=("Machine Wash", "quick dry"),
    description="Keeps its shape.",
    attributes=("soft cotton", "long sleeve"),
    options=(("color", ("red", "light blue")), ("size", ("5", "7"))),
    nouns=frozenset({"acme", "cotton", "shirt"}),
    rating="N.A.",
    reviews=(),
    instruction="",
    wanted=(),
    humans=(),
)
GOAL = Goal(0, "", ("long sleeve", "machine wash"), ("light blue", "7"), 30.0)


def test_everything_right_is_one() -> None:
    assert score_purchase(SHIRT, ["light blue", "7"], GOAL, SHIRT) == {
        "total": 1.0,
        "r_type": 1.0,
        "title_score": 1.0,
        "num_attributes": 2,
        "num_options": 2,
        "price_ok": 1.0,
    }


def test_options_left_out_cost_their_share() -> None:
    assert score_purchase(SHIRT, [], GOAL, SHIRT)["total"] == pytest.approx(3 / 5)
    assert score_purchase(SHIRT, ["red", "7"], GOAL, SHIRT)["total"] == pytest.approx(4 / 5)


def test_price_over_the_limit_costs_one_part() -> None:
    dear = replace(SHIRT, price=30.01)
    assert score_purchase(dear, ["light blue", "7"], GOAL, SHIRT)["total"] == pytest.approx(4 / 5)
    assert score_purchase(replace(SHIRT, price=30.0), [], GOAL, SHIRT)["price_ok"] == 1.0


def test_an_attribute_counts_in_the_list_nearly_equal_or_in_the_text() -> None:
    goal = replace(GOAL, attributes=("long sleeves", "quick dry", "keeps its shape", "waterproof"))
    assert score_purchase(SHIRT, [], goal, SHIRT)["num_attributes"] == 3


def test_colours_are_compared_plain() -> None:
    assert score_purchase(SHIRT, ["navy blue"], GOAL, SHIRT)["num_options"] == 1
    assert plain_color("dusty pink no 7") == "pink"
    assert plain_color("x-large") == "x-large"


def test_sizes_that_differ_in_a_digit_differ() -> None:
    goal = replace(GOAL, options=("5.5",))
    assert score_purchase(SHIRT, ["7.5"], goal, SHIRT)["num_options"] == 0


def test_a_goal_without_options_divides_by_attributes_and_price() -> None:
    goal = replace(GOAL, options=(), attributes=("waterproof", "long sleeve"))
    assert score_purchase(SHIRT, [], goal, SHIRT)["total"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("nouns", "query", "path", "r_type"),
    [
        ({"lamp"}, "shirts", {"Clothing", "Men", "Shirts"}, 0.0),  # no noun shared
        ({"acme"}, "hats", {"Hats"}, 1.0),  # a third of the nouns
    ],
)
def test_kind_of_product(nouns: set[str], query: str, path: set[str], r_type: float) -> None:
    other = replace(SHIRT, nouns=frozenset(nouns), query=query, path=frozenset(path))
    assert score_purchase(other, [], GOAL, SHIRT)["r_type"] == r_type


@pytest.mark.parametrize(
    ("num_nouns", "query", "path", "r_type"),
    [
        (10, "hats", {"Hats"}, 0.5),  # a tenth of the nouns, nothing else
        (10, "hats", {"Clothing", "Hats"}, 0.5),  # one shared element of the path is not enough
        (10, "hats", {"Clothing", "Men", "Hats"}, 1.0),
        (10, "shirts", {"Hats"}, 1.0),
        (11, "shirts", {"Clothing", "Men"}, 0.1),  # less than a tenth
        (5, "hats", {"Hats"}, 0.5),  # a fifth is not more than a fifth
    ],
)
def test_kind_by_share_of_nouns(num_nouns: int, query: str, path: set[str], r_type: float) -> None:
    wanted = replace(SHIRT, nouns=frozenset(f"noun{number}" for number in range(num_nouns)))
    other = replace(SHIRT, nouns=frozenset({"noun0"}), query=query, path=frozenset(path))
    assert score_purchase(other, [], GOAL, wanted)["r_type"] == r_type


def test_a_title_without_nouns_scores_a_fifth() -> None:
    bare = replace(SHIRT, nouns=frozenset())
    assert score_purchase(bare, [], GOAL, bare)["title_score"] == 0.2


def test_nouns_leave_out_adjectives_numbers_and_little_words() -> None:
    assert title_nouns("The Women\u2019s Black Shirt with 2 Pockets, 5.5") == {"women", "shirt", "pockets"}
