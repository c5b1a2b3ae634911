"""The shipped catalogue: reproducible, varied, and no easier than the real one."""

from __future__ import annotations

import subprocess
import sys
from statistics import mean

import pytest

from molt_envs.families.webshop.env import WebShopEnv
from molt_envs.families.webshop.goals import GoalKind, goal_set
from molt_envs.families.webshop.language import DATA
from molt_envs.families.webshop.loading import load_catalogue
from molt_envs.families.webshop.oracle import RandomPolicy, ScriptPolicy
from molt_envs.families.webshop.reward import score_purchase
from molt_envs.policy import Policy
from scripts.webshop_catalogue import build


def play(
    env: WebShopEnv, policy: Policy, observation: str, info: dict[str, object]
) -> tuple[float, list[str]]:
    """Final score and actions of an episode that has begun."""
    actions: list[str] = []
    while True:
        actions.append(policy.act(observation, info))
        observation, _, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            return float(str(info["score"])), actions


def test_building_it_again_gives_the_same_bytes() -> None:
    for name, content in build().items():
        assert (DATA / name).read_bytes() == content.encode(), name


def test_it_is_as_large_and_varied_as_promised() -> None:
    catalogue = load_catalogue()
    products = [catalogue.product(row) for row in range(catalogue.num_products)]
    assert len(products) >= 1000
    assert len({product.category for product in products}) >= 12
    assert len({product.title for product in products}) == len(products)
    assert len({product.instruction for product in products}) == len(products)
    assert all(6 <= len(product.title.split()) <= 15 for product in products)
    assert all(len(product.asin) == 10 and product.asin.startswith("B0") for product in products)
    assert {len(product.options) for product in products} == {0, 1, 2, 3}
    vocabulary = {
        word for product in products for word in f"{product.title} {product.description}".lower().split()
    }
    assert 800 < len(vocabulary) < 2500


def test_the_right_item_without_options_scores_as_on_real_products() -> None:
    catalogue = load_catalogue()
    goals = goal_set(catalogue, "synthetic")
    scores: list[float] = []
    for number in range(0, len(goals), 5):
        goal = goals.get(number)
        product = catalogue.product(goal.row)
        scores.append(score_purchase(product, [], goal, product)["total"])
    assert mean(scores) == pytest.approx(0.688, abs=0.05)


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_the_oracle_scores_one_on_every_goal(kind: GoalKind) -> None:
    catalogue = load_catalogue()
    goals = goal_set(catalogue, kind)
    for number in range(len(goals)):
        goal = goals.get(number)
        product = catalogue.product(goal.row)
        assert score_purchase(product, goal.options, goal, product)["total"] == 1.0


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_the_oracle_finds_the_product_on_the_first_page(kind: GoalKind) -> None:
    env = WebShopEnv(goals=kind)
    on_first_page = 0
    for index in range(150):
        observation, info = env.reset(options={"task_id": f"test:{index}"})
        score, actions = play(env, env.oracle(), observation, info)
        assert score == 1.0
        on_first_page += actions[1].startswith("click[B0")
    assert on_first_page >= 0.9 * 150


def test_the_oracles_query_can_be_read_off_the_instruction() -> None:
    env = WebShopEnv()
    observation, info = env.reset(options={"task_id": "test:0"})
    query = env.oracle().act(observation, info).removeprefix("search[").removesuffix("]")
    assert set(query.split()) <= set(observation.replace(",", "").split())


def test_a_noisy_oracle_leaves_out_only_option_clicks() -> None:
    env = WebShopEnv()
    scores: list[float] = []
    for index in range(60):
        observation, info = env.reset(options={"task_id": f"train:{index}"})
        clean = play(env, env.oracle(), observation, info)[1]
        observation, info = env.reset(options={"task_id": f"train:{index}"})
        score, noisy = play(env, env.oracle(index, noise=0.25), observation, info)
        assert set(noisy) <= set(clean)
        assert noisy[-1] == clean[-1]
        scores.append(score)
    assert 0.3 < mean(score >= 1 for score in scores) < 0.9
    assert min(scores) > 0


@pytest.mark.parametrize(("policy", "most"), [("script", 0.05), ("random", 0.05)])
def test_no_shortcut_solves_it(policy: str, most: float) -> None:
    env = WebShopEnv()
    solved = 0
    for index in range(100):
        observation, info = env.reset(options={"task_id": f"test:{index}"})
        player = ScriptPolicy() if policy == "script" else RandomPolicy(index)
        solved += play(env, player, observation, info)[0] >= 1
    assert solved <= most * 100


def test_starting_costs_less_than_a_second_of_the_processor() -> None:
    program = (
        "import time, gymnasium, molt_envs; start = time.process_time();"
        "gymnasium.make('molt/WebShop-v0').reset(seed=0); print(time.process_time() - start)"
    )
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert float(answer.stdout) < 1.0
