"""The household as an environment: how a command is found in a message, and what an episode gives."""

from __future__ import annotations

import pytest

from molt_envs.families.alfworld.env import HouseholdEnv


@pytest.mark.parametrize(
    ("message", "action"),
    [
        ("go to cabinet 12", "go to cabinet 12"),
        ("I should look for it.\n\ngo to fridge 1", "go to fridge 1"),
        ("First open drawer 1, then:\ntake egg 2 from drawer 1.", "take egg 2 from drawer 1"),
        ("Now I put apple 1 in/on desk 1!", "put apple 1 in/on desk 1"),
        ("heat egg 2 with microwave 1", "heat egg 2 with microwave 1"),
        ("Let me see what is here.\n look ", " look "),
        ("I give up", "I give up"),
    ],
)
def test_a_command_is_found_in_a_message(message: str, action: str) -> None:
    assert HouseholdEnv().card.grammar.extract(message) == action


def test_every_admissible_command_is_found_as_it_is() -> None:
    env = HouseholdEnv()
    for seed in range(20):
        _, info = env.reset(seed=seed)
        policy = env.oracle(seed)
        while True:
            for action in info["admissible_actions"]:
                assert env.card.grammar.extract(action) == action
            *_, terminated, truncated, info = env.step(policy.act("", info))
            if terminated or truncated:
                break


def test_reward_comes_once_with_the_end() -> None:
    env = HouseholdEnv()
    env.reset(seed=3)
    policy, rewards, terminated = env.oracle(), [], False
    while not terminated:
        _, reward, terminated, _, info = env.step(policy.act("", {}))
        rewards.append(reward)
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]
    assert (info["score"], info["success"]) == (1.0, True)


def test_fifty_steps_end_an_episode() -> None:
    env = HouseholdEnv()
    env.reset(seed=0)
    ends = [env.step("look")[2:4] for _ in range(50)]
    assert ends == [(False, False)] * 49 + [(False, True)]


def test_the_oracle_needs_a_running_task() -> None:
    with pytest.raises(ValueError, match="reset"):
        HouseholdEnv().oracle()
