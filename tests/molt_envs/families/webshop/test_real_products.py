"""Real products, where they are at hand: reference means of the original's reward."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest

from molt_envs.families.webshop.catalogue import Catalogue
from molt_envs.families.webshop.env import WebShopEnv
from molt_envs.families.webshop.goals import GoalSet, goal_set
from molt_envs.families.webshop.loading import load_catalogue
from molt_envs.families.webshop.reward import score_purchase
from tests.shared_data import shared_data_dir

FILE = "products_exact.json"


@pytest.fixture
def folder() -> Path:
    return shared_data_dir() / "webshop"


@pytest.fixture
def catalogue(folder: Path) -> Catalogue:
    return load_catalogue(folder, FILE)


@pytest.fixture
def goals(catalogue: Catalogue) -> GoalSet:
    return goal_set(catalogue, "synthetic")


def test_buying_what_is_asked_scores_one_on_every_goal(catalogue: Catalogue, goals: GoalSet) -> None:
    assert len(goals) == 6038
    for number in range(len(goals)):
        goal = goals.get(number)
        product = catalogue.product(goal.row)
        assert score_purchase(product, goal.options, goal, product)["total"] == 1.0


def test_reference_means(catalogue: Catalogue, goals: GoalSet) -> None:
    """Wrong options: of each group another value, at random. Random item: without options."""
    rng = random.Random(0)
    bare: list[float] = []
    wrong: list[float] = []
    other: list[float] = []
    for number in range(len(goals)):
        goal = goals.get(number)
        product = catalogue.product(goal.row)
        groups = zip(sorted(product.options), goal.options, strict=True)
        others = [[value for value in values if value != wanted] for (_, values), wanted in groups]
        chosen = [rng.choice(values) for values in others if values]
        bare.append(score_purchase(product, [], goal, product)["total"])
        wrong.append(score_purchase(product, chosen, goal, product)["total"])
        item = catalogue.product(rng.randrange(catalogue.num_products))
        other.append(score_purchase(item, [], goal, product)["total"])
    assert mean(bare) == pytest.approx(0.688, abs=0.03)
    assert mean(wrong) == pytest.approx(0.706, abs=0.03)
    assert mean(other) == pytest.approx(0.053, abs=0.03)


def test_the_oracle_plays_real_products_to_the_end(folder: Path) -> None:
    env = WebShopEnv(data_dir=folder, products_file=FILE)
    for index in range(0, 500, 5):
        observation, info = env.reset(options={"task_id": f"test:{index}"})
        policy, ended, score = env.oracle(), False, 0.0
        while not ended:
            observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
            ended, score = terminated or truncated, info["score"]
        assert score == 1.0, info["task_id"]


def test_start_with_real_products_takes_less_than_a_second_of_the_processor(folder: Path) -> None:
    program = (
        "import time, gymnasium, molt_envs; start = time.process_time();"
        f"gymnasium.make('molt/WebShop-v0', data_dir={str(folder)!r}, products_file={FILE!r}).reset(seed=0);"
        "print(time.process_time() - start)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert float(answer.stdout) < 1.0
