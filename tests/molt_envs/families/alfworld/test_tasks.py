"""The tasks of the household: enough of them, disjoint, the same everywhere, and all of them can be done."""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import combinations

import pytest

from molt_envs.families.alfworld.env import HouseholdEnv
from molt_envs.families.alfworld.game import Game
from molt_envs.families.alfworld.household import goals, rooms
from molt_envs.families.alfworld.tasks import make_world
from molt_envs.families.alfworld.world import TASK_TYPES
from molt_envs.policy import Policy

SPLITS = ("train", "seen", "validation", "test")
DIGEST = "d4e26009bc903f41"
"""Of the first tasks of each split; if this changes, so has the environment, and its version with it."""


def keys(split: str) -> list[tuple[str, str, str, str]]:
    return [(goal.room.name, goal.task_type, goal.thing, goal.target) for goal in goals()[split]]


def test_there_are_as_many_train_tasks_as_in_the_original() -> None:
    assert len(goals()["train"]) >= 3500
    assert all(len(goals()[split]) >= 500 for split in SPLITS)


@pytest.mark.parametrize("split", SPLITS)
def test_each_split_has_all_six_types(split: str) -> None:
    counts = Counter(goal.task_type for goal in goals()[split])
    assert set(counts) == set(TASK_TYPES)
    assert min(counts.values()) >= 40


def test_no_goal_is_in_two_splits_or_twice_in_one() -> None:
    every = [key for split in SPLITS for key in keys(split)]
    assert len(every) == len(set(every))


def test_rooms_of_validation_and_test_are_in_no_other_split() -> None:
    where = {split: {goal.room.name for goal in goals()[split]} for split in SPLITS}
    assert where["seen"] <= where["train"]
    for one, other in combinations(("train", "validation", "test"), 2):
        assert not where[one] & where[other]


def test_no_two_rooms_have_the_same_receptacles() -> None:
    layouts = [tuple(receptacle.name for receptacle in room.receptacles) for _, room in rooms()]
    assert len(set(layouts)) == len(layouts) == 120


def test_no_first_observation_occurs_in_two_splits() -> None:
    shown: dict[str, str] = {}
    for split in SPLITS:
        for goal in goals()[split][:600]:
            assert shown.setdefault(Game(make_world(goal)).intro(), split) == split


def test_the_tasks_are_these() -> None:
    worlds = [make_world(goal) for split in SPLITS for goal in goals()[split][:100]]
    text = "\n".join(f"{Game(world).intro()} {world.inside} {world.goal}" for world in worlds)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == DIGEST


@pytest.mark.parametrize("split", SPLITS)
def test_no_task_is_done_at_the_start(split: str) -> None:
    assert not any(Game(make_world(goal)).won for goal in goals()[split][:600])


def solved(env: HouseholdEnv, split: str, index: int, policy_name: str) -> bool:
    observation, info = env.reset(options={"task_id": f"{split}:{index}"})
    policy: Policy = env.oracle(index) if policy_name == "oracle" else env.baselines(index)[policy_name]
    while True:
        observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
        if terminated or truncated:
            return bool(info["success"])


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("stride", [12, pytest.param(1, marks=pytest.mark.real)])
def test_the_oracle_does_every_task_within_fifty_steps(split: str, stride: int) -> None:
    env = HouseholdEnv()
    assert all(solved(env, split, index, "oracle") for index in range(0, env.card.splits[split], stride))


@pytest.mark.parametrize("policy_name", ["nothing", "random", "script"])
def test_policies_without_skill_do_next_to_nothing(policy_name: str) -> None:
    env = HouseholdEnv()
    assert sum(solved(env, "test", index, policy_name) for index in range(0, 600, 6)) <= 5


def test_an_oracle_with_noise_fails_sometimes() -> None:
    env = HouseholdEnv()
    successes = 0
    for index in range(60):
        env.reset(options={"task_id": f"train:{index}"})
        policy = env.oracle(index, noise=0.1)
        success = False
        for _ in range(50):
            _, _, terminated, truncated, info = env.step(policy.act("", {}))
            success = info["success"]
            if terminated or truncated:
                break
        successes += success
    assert 10 < successes < 50


def test_the_oracle_speaks_the_older_form_where_it_is_asked_for() -> None:
    env = HouseholdEnv(put=True)
    assert all(solved(env, "validation", index, "oracle") for index in range(30))


def test_the_state_key_forgets_the_way() -> None:
    env = HouseholdEnv()
    _, info = env.reset(options={"task_id": "train:0"})
    there, other = [action for action in info["admissible_actions"] if action.startswith("go to")][:2]
    first = env.step(there)[4]["state_key"]
    env.step(other)
    assert env.step(there)[4]["state_key"] == first != info["state_key"]
