"""The rules of Kuhn poker in words, hand by hand."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import molt_envs  # noqa: F401 - registers the ids
from molt_envs import Task
from molt_envs.families.games.kuhn import KuhnPoker
from molt_envs.families.games.strategy import DEALS


def one_hand(deal: str) -> KuhnPoker:
    """A match of one hand in which the seats hold the two cards of `deal`."""
    game = KuhnPoker(num_hands=1)
    for index in range(len(DEALS)):
        game.begin(Task("train", index))
        if [game.information_set(seat)[0] for seat in (0, 1)] == list(deal):
            return game
    raise AssertionError(deal)


@pytest.mark.parametrize(
    ("deal", "moves", "chips"),
    [
        ("KQ", "check check", 1),
        ("JQ", "check check", -1),
        ("KQ", "bet call", 2),
        ("QK", "bet call", -2),
        ("JK", "bet fold", 1),
        ("QJ", "check bet call", 2),
        ("QJ", "check bet fold", -1),
    ],
)
def test_the_pot_goes_to_the_better_card_or_to_who_is_left(deal: str, moves: str, chips: int) -> None:
    game = one_hand(deal)
    rewards = [game.play(move) for move in moves.split()]
    assert rewards[-1] == (chips, -chips)
    assert all(reward == (0, 0) for reward in rewards[:-1])
    assert game.mover is None


def test_a_card_is_told_to_its_holder_alone() -> None:
    game = one_hand("JK")
    assert "You hold J" in game.observe(0) and "K" not in game.observe(0).replace("You hold J", "")
    assert "You hold K" in game.observe(1)
    game.play("bet")
    assert "You hold J" not in game.observe(1) and "player_0 bets 1 chip." in game.observe(1)


@pytest.mark.parametrize("word", ["", "raise", "call", "fold", "bet check"])
def test_an_illegal_word_loses_the_hand(word: str) -> None:
    game = one_hand("KQ")
    assert game.illegal_move == "loss"
    assert game.play(word) == (-1.0, 1.0)
    assert "breaks the rules" in game.observe(1)


def test_who_moves_first_changes_with_every_hand() -> None:
    game = KuhnPoker(num_hands=4)
    game.begin(Task("train", 0))
    movers = []
    while game.mover is not None:
        movers.append(game.mover)
        game.play("check")
        game.play("check")
    assert movers == [0, 1, 0, 1]


def test_matches_of_different_tasks_and_splits_have_different_deals() -> None:
    game, seen = KuhnPoker(), set()
    for split, num_tasks in game.card.splits.items():
        for index in range(num_tasks):
            game.begin(Task(split, index))
            seen.add(tuple(game._deals))
    assert len(seen) == sum(game.card.splits.values()) == 12_000


def test_a_match_of_one_hand_has_each_deal_once_and_no_held_out_split() -> None:
    assert KuhnPoker(num_hands=1).card.splits == {"train": 6, "validation": 0, "test": 0}
    one_hand("QK")


def test_the_equilibrium_loses_next_to_nothing_to_a_policy_that_always_puts_in() -> None:
    env: Any = gymnasium.make("molt/KuhnPoker-v0", num_hands=100).unwrapped
    total = 0.0
    for seed in range(60):
        _, info = env.reset(seed=seed)
        policy, over = env.baselines(seed)["script"], False
        while not over:
            _, reward, over, _, info = env.step(policy.act("", info))
            total += reward
    # Against an equilibrium a hand is worth at most 0 over both positions; 4 standard errors are about 0.09.
    assert -0.3 < total / 6_000 < 0.09


def test_a_match_without_hands_is_refused() -> None:
    with pytest.raises(ValueError, match="num_hands is 0"):
        KuhnPoker(num_hands=0)
