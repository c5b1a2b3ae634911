"""Kuhn poker as numbers: the known values, and the rules played out history by history."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from molt_envs.env import Task
from molt_envs.families.games import strategy
from molt_envs.families.games.kuhn import KuhnPoker

ALPHAS = [Fraction(0), Fraction(1, 7), Fraction(1, 3)]
ODD = {name: Fraction(place, 17) for place, name in enumerate(strategy.INFORMATION_SETS, start=2)}


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("other", ALPHAS)
def test_every_equilibrium_is_worth_a_loss_of_one_eighteenth_to_who_moves_first(
    alpha: Fraction, other: Fraction
) -> None:
    assert strategy.expected_value(strategy.optimal(alpha), strategy.optimal(other)) == Fraction(-1, 18)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_nothing_wins_from_an_equilibrium(alpha: Fraction) -> None:
    assert strategy.exploitability(strategy.optimal(alpha)) == 0


def test_playing_at_random_loses_eleven_twenty_fourths_to_the_best_answers() -> None:
    assert strategy.exploitability(strategy.uniform()) == Fraction(11, 24)


def test_a_bluff_too_many_can_be_exploited() -> None:
    # Over the deals QK JK QJ KJ JQ KQ the best second player wins 5/3 + 2 - 1 - 1 + 2 - 2, so 5/18 a hand;
    # in the other position the bluffer still has the equilibrium's -1/18 against it.
    bluffer = strategy.optimal(Fraction(1, 3)) | {"J:": Fraction(1)}
    assert strategy.exploitability(bluffer) == (Fraction(5, 18) - Fraction(1, 18)) / 2


def test_floats_are_taken() -> None:
    assert float(strategy.exploitability(dict.fromkeys(strategy.INFORMATION_SETS, 0.5))) == 11 / 24


def test_a_missing_information_set_is_named() -> None:
    partial = {name: 0.5 for name in strategy.INFORMATION_SETS if name != "Q:kb"}
    with pytest.raises(ValueError, match="'Q:kb' has None"):
        strategy.exploitability(partial)


def test_a_number_that_is_no_probability_is_named() -> None:
    with pytest.raises(ValueError, match=r"'K:' has 1\.5"):
        strategy.exploitability(strategy.uniform() | {"K:": 1.5})


def test_an_alpha_outside_of_the_family_is_refused() -> None:
    with pytest.raises(ValueError, match="alpha is 1/2"):
        strategy.optimal(Fraction(1, 2))


@pytest.mark.parametrize(
    ("first", "second"), [(ODD, strategy.uniform()), (strategy.optimal(Fraction(1, 5)), ODD)]
)
def test_the_value_is_that_of_the_rules_played_out_move_by_move(first: Any, second: Any) -> None:
    total = sum((_played_out(index, (), first, second) for index in range(6)), Fraction(0))
    assert strategy.expected_value(first, second) == total / 6


def _played_out(index: int, moves: tuple[str, ...], first: Any, second: Any) -> Fraction:
    """Expected chips of seat 0 over all continuations of a one-hand match."""
    game = KuhnPoker(num_hands=1)
    game.begin(Task("train", index))
    for move in moves:
        game.play(move)
    if game.mover is None:
        return Fraction(game.score(0))
    puts_in = Fraction((first, second)[game.mover][game.information_set(game.mover)])
    passive, active = ("fold", "call") if "call" in game.admissible() else ("check", "bet")
    return puts_in * _played_out(index, (*moves, active), first, second) + (1 - puts_in) * _played_out(
        index, (*moves, passive), first, second
    )
