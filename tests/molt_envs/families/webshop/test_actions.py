"""Invalid actions, options that collide, limits on turns: what the environment does, step by step."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from molt_envs.families.webshop.env import WebShopEnv
from tests.molt_envs.families.webshop.shop_files import write_shop
from tests.molt_envs.families.webshop.test_pages import after, begin


@pytest.fixture
def shop(tmp_path: Path) -> WebShopEnv:
    return WebShopEnv(data_dir=write_shop(tmp_path))


NOTHING_THERE = ("click[b000000004]", "click[< prev]", "click[buy now]", "click[search]", "click[\x00]")
MALFORMED = ("", " ", "buy", "search", "search[]", "search[ ]", "click[]", "search[shirt", "[red]", "]", "[")
STRANGE = ("Click[red", "buy[now]", "\x1b[2J", "\ud800", "x" * 2**20, "click[" + "y" * 2**20 + "]")


@pytest.mark.parametrize("action", NOTHING_THERE + MALFORMED + STRANGE)
def test_an_invalid_action_shows_the_same_page_and_costs_a_turn(shop: WebShopEnv, action: str) -> None:
    before = begin(shop, "lamps")
    observation, reward, terminated, truncated, info = shop.step(action)
    assert (observation, reward, terminated, truncated) == (before, 0.0, False, False)
    assert info["turn"] == 1


def test_an_invalid_click_on_an_item_page_keeps_the_page(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    item, info = after(shop, "search[shirt]", "click[b000000001]")
    for action in ("click[green]", "click[b000000004]", "click[next >]", "click[colour: red]"):
        text, later = after(shop, action)
        assert text == item
        assert later["state_key"] == info["state_key"]


def test_a_megabyte_of_query_and_control_characters_is_a_search(shop: WebShopEnv) -> None:
    begin(shop, "shirts")
    assert "Page 1 (Total results: 0)" in after(shop, "search[" + "lamp" * 2**18 + "]")[0]
    assert "Page 1 (Total results: 1)" in after(shop, "search[\x00\x07 lamp \n\x1b]")[0]


def test_spaces_around_an_action_do_not_matter(shop: WebShopEnv) -> None:
    begin(shop, "shirts")
    assert "B000000004" in after(shop, "  search[ LAMP ] \n")[0]


def test_an_option_click_changes_the_state_but_not_the_page(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    item, info = after(shop, "search[shirt]", "click[b000000001]")
    text, chosen = after(shop, "click[Light Blue]")
    assert text == item
    assert chosen["state_key"] != info["state_key"]


def bought_options(env: WebShopEnv) -> str:
    return env.step("click[buy now]")[0].partition("options [SEP] ")[2].partition(" [SEP] ")[0]


def test_equal_values_of_two_groups_are_two_options(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    _, info = after(shop, "search[twin]", "click[b000000003]")
    assert "click[outer: black]" in info["admissible_actions"]
    assert "click[black]" not in info["admissible_actions"]
    after(shop, "click[inner: black]", "click[outer: white]")
    assert bought_options(shop) == '{"inner": "black", "outer": "white"}'


def test_a_bare_shared_value_goes_to_the_first_group_without_a_choice(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    after(shop, "search[twin]", "click[b000000003]", "click[black]", "click[white]")
    assert bought_options(shop) == '{"outer": "black", "inner": "white"}'


def test_an_option_named_like_a_button_is_reached_by_its_group(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    _, info = after(shop, "search[twin]", "click[b000000003]")
    assert info["admissible_actions"][-1] == "click[buy now]"
    assert "click[notes: buy now]" in info["admissible_actions"]
    after(shop, "click[notes: buy now]")
    assert bought_options(shop) == '{"notes": "buy now"}'


def test_the_last_choice_of_a_group_counts_and_leaving_the_product_forgets_it(shop: WebShopEnv) -> None:
    begin(shop, "lamps")
    after(shop, "search[shirt]", "click[b000000001]", "click[red]", "click[features]", "click[< prev]")
    after(shop, "click[light blue]", "click[< prev]", "click[b000000001]", "click[7]")
    assert bought_options(shop) == '{"size": "7"}'


def test_an_episode_is_truncated_after_max_turns(tmp_path: Path) -> None:
    env = WebShopEnv(data_dir=write_shop(tmp_path), max_turns=2)
    env.reset(seed=0, options={"split": "test"})
    assert env.step("search[shirt]")[3] is False
    assert env.step("click[b000000001]")[2:4] == (False, True)


def test_buying_on_the_last_turn_terminates(tmp_path: Path) -> None:
    env = WebShopEnv(data_dir=write_shop(tmp_path), max_turns=3)
    begin(env, "lamps")
    after(env, "search[lamp]", "click[b000000004]")
    assert env.step("click[buy now]")[1:4] == (1.0, True, False)


def test_fifteen_turns_by_default() -> None:
    assert WebShopEnv().card.max_turns == 15


@pytest.mark.parametrize("arguments", [{"goals": "all"}, {"page_size": 0}, {"max_turns": 0}])
def test_wrong_arguments_are_named(arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        WebShopEnv(**arguments)  # type: ignore[arg-type]


def test_oracle_needs_a_running_task() -> None:
    with pytest.raises(ValueError, match="reset"):
        WebShopEnv().oracle()


@pytest.mark.filterwarnings("ignore:.*render_fps.*", "ignore:.*unwrapped environment.*")
def test_gymnasium_checks_it() -> None:
    check_env(gymnasium.make("molt_envs:molt/WebShop-v0").unwrapped, skip_render_check=True)
