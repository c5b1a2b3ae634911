"""Goals and splits: what is asked, prices drawn by seed, and splits that share nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from molt_envs.errors import DataError
from molt_envs.families.webshop.goals import GoalKind, GoalSet, goal_set
from molt_envs.families.webshop.loading import load_catalogue
from tests.molt_envs.families.webshop.shop_files import attributes, human, products, write_shop

PRICE = re.compile(r", and price lower than \d+\.00 dollars$")


def test_synthetic_goals_are_instruction_times_options_by_name(tmp_path: Path) -> None:
    goals = goal_set(load_catalogue(write_shop(tmp_path)), "synthetic")
    assert len(goals) == 2 * 2 + 2 * 2 * 2 + 1
    assert [PRICE.sub("", goals.get(number).instruction) for number in range(4)] == [
        "Find me machine wash shirts with color: red, and size: 5 | 6",
        "Find me machine wash shirts with color: red, and size: 7",
        "Find me machine wash shirts with color: light blue, and size: 5 | 6",
        "Find me machine wash shirts with color: light blue, and size: 7",
    ]
    assert goals.get(4).options == ("white", "buy now", "black")  # inner, notes, outer


def test_human_goals_keep_their_words_and_skip_those_without_attributes(tmp_path: Path) -> None:
    goals = goal_set(load_catalogue(write_shop(tmp_path)), "human")
    assert len(goals) == 2
    assert PRICE.sub("", goals.get(0).instruction) == "i want a washable shirt in red"
    assert goals.get(0).options == ("red",)
    assert goals.get(1).options == ()


def test_price_limit_is_one_of_the_next_four_steps_but_not_the_first(tmp_path: Path) -> None:
    many = [products()[0] | {"asin": f"B0000001{number:02d}"} for number in range(60)]
    known = {record["asin"]: attributes()["B000000001"] for record in many}
    catalogue = load_catalogue(write_shop(tmp_path, products=many, attributes=known))
    goals = goal_set(catalogue, "synthetic")
    limits = {goals.get(number).price_upper for number in range(len(goals))}
    assert limits == {30.0, 40.0, 50.0}


def test_no_limit_where_fewer_than_two_steps_are_left(tmp_path: Path) -> None:
    goal = goal_set(load_catalogue(write_shop(tmp_path)), "synthetic").get(12)
    assert goal.price_upper == 1_000_000
    assert "price" not in goal.instruction


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_shipped_splits_share_no_goal(kind: GoalKind) -> None:
    goals = goal_set(load_catalogue(), kind)
    assert {name: len(numbers) for name, numbers in goals.splits.items() if name != "train"} == {
        "test": 1000,
        "validation": 500,
    }
    assert len(goals.splits["train"]) >= 3000
    seen: set[tuple[str, tuple[str, ...]]] = set()
    total = 0
    for numbers in goals.splits.values():
        for number in numbers.tolist():
            goal = goals.get(number)
            seen.add((PRICE.sub("", goal.instruction), goal.options))
            total += 1
    assert len(seen) == total


def test_a_repeated_goal_is_in_one_split_only(tmp_path: Path) -> None:
    many = [products()[0] | {"asin": f"B0000{number:05d}"} for number in range(400)]
    known = {record["asin"]: attributes()["B000000001"] for record in many}
    goals = GoalSet(load_catalogue(write_shop(tmp_path, products=many, attributes=known)), "synthetic")
    assert len(goals) == 1600
    assert {name: len(numbers) for name, numbers in goals.splits.items()} == {"test": 4}


def test_the_users_own_files_are_split_as_in_the_original(tmp_path: Path) -> None:
    many = [products()[0] | {"asin": f"B0000{number:05d}"} for number in range(500)]
    known = {
        record["asin"]: attributes()["B000000001"] | {"instruction": f"Find me shirt {number}"}
        for number, record in enumerate(many)
    }
    goals = GoalSet(load_catalogue(write_shop(tmp_path, products=many, attributes=known)), "synthetic")
    assert {name: len(numbers) for name, numbers in goals.splits.items()} == {
        "test": 500,
        "validation": 1000,
        "train": 500,
    }


def test_no_goal_of_the_kind_is_an_error(tmp_path: Path) -> None:
    catalogue = load_catalogue(write_shop(tmp_path, human={}))
    with pytest.raises(DataError, match="holds no human instruction"):
        GoalSet(catalogue, "human")


EPISODES = """
import hashlib, gymnasium, molt_envs
from molt_envs.families.webshop.oracle import RandomPolicy
digest = hashlib.sha256()
for kind in ("synthetic", "human"):
    env = gymnasium.make("molt/WebShop-v0", goals=kind)
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        policy, ended = RandomPolicy(seed), False
        while not ended:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            digest.update(repr((observation, reward, info)).encode())
            ended = terminated or truncated
print(digest.hexdigest())
"""


def test_same_seed_same_episode_in_every_process() -> None:
    digests = set[str]()
    for hash_seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", EPISODES]
        answer = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        digests.add(answer.stdout)
    assert len(digests) == 1


def test_human_instructions_of_other_products_are_ignored(tmp_path: Path) -> None:
    entries = human() | {"B999999999": human()["B000000001"]}
    assert len(goal_set(load_catalogue(write_shop(tmp_path, human=entries)), "human")) == 2
