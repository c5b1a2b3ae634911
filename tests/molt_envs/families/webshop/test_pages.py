"""Pages as the original shows them in text mode, and where clicks lead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from molt_envs.families.webshop.env import WebShopEnv
from tests.molt_envs.families.webshop.shop_files import products, write_shop


@pytest.fixture
def shop(tmp_path: Path) -> WebShopEnv:
    return WebShopEnv(data_dir=write_shop(tmp_path))


def begin(env: WebShopEnv, product: str) -> str:
    """Start the first task whose instruction holds `product`."""
    for index in range(env.card.splits["test"]):
        observation, _ = env.reset(options={"task_id": f"test:{index}"})
        if product in observation:
            return observation
    raise AssertionError(product)


def after(env: WebShopEnv, *actions: str) -> tuple[str, dict[str, Any]]:
    """Observation and info after some actions, the instruction cut out."""
    observation, info = "", {}
    for action in actions:
        observation, _, _, _, info = env.step(action)
    head, _, rest = observation.partition("Instruction: [SEP] ")
    return head + rest.partition(" [SEP] ")[2], info


def test_search_page_shows_the_instruction(shop: WebShopEnv) -> None:
    observation = begin(shop, "lamps")
    assert observation == "WebShop [SEP] Instruction: [SEP] Find me warm light lamps [SEP] Search"


def test_results_page_lists_asin_title_and_price(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    text, info = after(shop, "search[linen shirt]")
    assert text.startswith(
        "Back to Search [SEP] Page 1 (Total results: 3) [SEP] "
        "B000000002 [SEP] Zeta Linen Shirt [SEP] $35.0 to $48.0"
    )
    assert info["admissible_actions"][:2] == ("click[back to search]", "click[b000000002]")


def test_item_page_shows_options_price_and_rating(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    text, info = after(shop, "search[cotton]", "click[B000000001]")
    assert text == (
        "Back to Search [SEP] < Prev [SEP] color [SEP] red [SEP] light blue [SEP] size [SEP] 5 | 6 [SEP] 7"
        " [SEP] Acme Cotton Shirt [SEP] Price: $19.99 [SEP] Rating: N.A. [SEP] Description [SEP] Features"
        " [SEP] Reviews [SEP] Buy Now"
    )
    assert info["admissible_actions"] == (
        *(
            "click[back to search]",
            "click[< prev]",
            "click[description]",
            "click[features]",
            "click[reviews]",
        ),
        *("click[red]", "click[light blue]", "click[5 | 6]", "click[7]", "click[buy now]"),
    )


def test_a_missing_price_is_a_hundred_dollars(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    assert "Price: $100.0 [SEP]" in after(shop, "search[twin]", "click[b000000003]")[0]


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("Description", "A shirt for every day."),
        ("features", "soft cotton [SEP] machine wash"),
    ],
)
def test_sub_pages_show_their_text(shop: WebShopEnv, page: str, shown: str) -> None:
    begin(shop, "lamps")
    text, info = after(shop, "search[cotton]", "click[b000000001]", f"click[{page}]")
    assert text == f"Back to Search [SEP] < Prev [SEP] {shown}"
    assert info["admissible_actions"] == ("click[back to search]", "click[< prev]")


def test_reviews_and_rating_of_a_reviewed_product(shop: WebShopEnv) -> None:
    begin(shop, "shirts")
    assert "Rating: 4.5" in after(shop, "search[lamp]", "click[b000000004]")[0]
    assert after(shop, "click[reviews]")[0].endswith("< Prev [SEP] Lovely [SEP] Shines well.")


def test_unicode_is_found_and_shown(shop: WebShopEnv) -> None:
    begin(shop, "shirts")
    assert "Brass Lamp é 灯" in after(shop, "search[灯]")[0]


def test_done_page_shows_the_score(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    after(shop, "search[lamp]", "click[b000000004]")
    observation, reward, terminated, truncated, info = shop.step("click[Buy Now]")
    assert observation == (
        "Thank you for shopping with us! [SEP] Purchased [SEP] asin [SEP] B000000004 [SEP] options [SEP] {}"
        " [SEP] Your score (min 0.0, max 1.0) [SEP] 1.0"
    )
    assert (reward, terminated, truncated, info["success"], info["score"]) == (1.0, True, False, True, 1.0)


def test_prev_leads_back_one_level(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    results, _ = after(shop, "search[shirt]")
    item, _ = after(shop, "click[b000000001]")
    assert after(shop, "click[features]", "click[< prev]")[0] == item
    assert after(shop, "click[< Prev]")[0] == results


def test_back_to_search_from_every_page(shop: WebShopEnv) -> None:
    start = begin(shop, "lamps")
    for path in (["search[shirt]"], ["search[shirt]", "click[b000000001]"]):
        after(shop, *path)
        assert shop.step("click[back to search]")[0] == start


def test_search_works_on_an_item_page(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    text, _ = after(shop, "search[shirt]", "click[b000000001]", "search[lamp]")
    assert "Page 1 (Total results: 1) [SEP] B000000004" in text


def test_paging_has_next_in_front_prev_behind_and_both_between(tmp_path: Path) -> None:
    many = [products()[1] | {"asin": f"B0000001{number:02d}"} for number in range(25)] + products()
    env = WebShopEnv(data_dir=write_shop(tmp_path, products=many))
    begin(env, "lamps")
    first, _ = after(env, "search[linen]")
    assert "Page 1 (Total results: 26) [SEP] Next > [SEP] B000000100" in first
    second, _ = after(env, "click[next >]")
    assert "Page 2 (Total results: 26) [SEP] < Prev [SEP] Next > [SEP] B000000110" in second
    third, info = after(env, "click[Next >]")
    assert "Page 3 (Total results: 26) [SEP] < Prev [SEP] B000000120" in third
    assert third.count("Zeta") == 6
    assert "click[next >]" not in info["admissible_actions"]
    assert after(env, "click[next >]")[0] == third
    after(env, "click[b000000120]")
    assert after(env, "click[< prev]")[0] == third
    assert after(env, "click[< prev]")[0] == second


def test_at_most_fifty_results_and_a_page_size(tmp_path: Path) -> None:
    many = [products()[1] | {"asin": f"B000001{number:03d}"} for number in range(70)] + products()
    env = WebShopEnv(data_dir=write_shop(tmp_path, products=many), page_size=25)
    begin(env, "lamps")
    text, _ = after(env, "search[linen]")
    assert "(Total results: 50)" in text
    assert text.count("Zeta") == 25
    assert "Next >" not in after(env, "click[next >]")[0]


def test_a_search_without_hits_has_an_empty_page(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    text, info = after(shop, "search[xylophone]")
    assert text == "Back to Search [SEP] Page 1 (Total results: 0)"
    assert info["admissible_actions"] == ("click[back to search]",)


@pytest.mark.parametrize(
    ("query", "asins"),
    [
        ("<c> garden", ["B000000004"]),
        ("<q> Shirts", ["B000000001", "B000000002", "B000000003"]),
        ("<a> Machine wash", ["B000000001"]),
        ("<a> unknown", []),
    ],
)
def test_keyword_searches(shop: WebShopEnv, query: str, asins: list[str]) -> None:
    begin(shop, "lamps")
    text, _ = after(shop, f"search[{query}]")
    assert [word for word in text.split() if word.startswith("B0")] == asins


def test_random_keyword_is_the_same_each_time(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    first, _ = after(shop, "search[<r>]")
    assert "(Total results: 4)" in first
    assert after(shop, "search[<r>]")[0] == first
