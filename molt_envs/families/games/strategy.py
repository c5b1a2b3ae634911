"""Strategies of Kuhn poker as numbers, their value and their exploitability, computed exactly.

In: for each information set the probability of putting a chip in. Out: chips per hand, as fractions.
Source: H. W. Kuhn, "A simplified two-person poker", 1950.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction

CARDS = ("J", "Q", "K")
DEALS = tuple(itertools.permutations(range(len(CARDS)), 2))
"""The six deals: the rank of the first player's card and of the second's."""
FIRST_SETS = tuple(f"{card}:{told}" for card in CARDS for told in ("", "kb"))
SECOND_SETS = tuple(f"{card}:{told}" for card in CARDS for told in ("k", "b"))
INFORMATION_SETS = FIRST_SETS + SECOND_SETS
"""`card:history` with `k` for a check and `b` for a bet, such as `Q:kb`: checked, then the other bet."""

Strategy = Mapping[str, float | Fraction]
"""Information set -> probability of a bet, or of a call when there is a bet."""


def optimal(alpha: Fraction = Fraction(1, 3)) -> dict[str, Fraction]:
    """Kuhn's family of equilibria: the first player bets a jack with probability `alpha`, 0 to 1/3."""
    if not 0 <= alpha <= Fraction(1, 3):
        raise ValueError(f"alpha is {alpha}; the equilibria have 0 to 1/3")
    third, zero, one = Fraction(1, 3), Fraction(0), Fraction(1)
    first = {"J:": alpha, "Q:": zero, "K:": 3 * alpha, "J:kb": zero, "Q:kb": alpha + third, "K:kb": one}
    second = {"J:k": third, "Q:k": zero, "K:k": one, "J:b": zero, "Q:b": third, "K:b": one}
    return first | second


def uniform() -> dict[str, Fraction]:
    """Both moves with probability 1/2 everywhere."""
    return dict.fromkeys(INFORMATION_SETS, Fraction(1, 2))


def expected_value(first: Strategy, second: Strategy) -> Fraction:
    """Chips per hand that `first`, who moves first, wins from `second`."""
    one, two = _exact(first), _exact(second)
    return sum((_deal_value(deal, one, two) for deal in DEALS), Fraction(0)) / len(DEALS)


def best_response_value(strategy: Strategy, first: bool) -> Fraction:
    """Chips per hand that the best answer wins from `strategy`.

    Args:
        strategy: of the player who is answered.
        first: whether the answer moves first.
    """
    sets = FIRST_SETS if first else SECOND_SETS
    answers = (
        dict(zip(sets, map(Fraction, choice), strict=True))
        for choice in itertools.product((0, 1), repeat=len(sets))
    )
    if first:
        return max(expected_value(answer, strategy) for answer in answers)
    return max(-expected_value(strategy, answer) for answer in answers)


def exploitability(strategy: Strategy) -> Fraction:
    """Chips per hand that best answers win from `strategy`, the mean of both positions; 0 for an optimum.

    Raises:
        ValueError: an information set is missing or its number is not a probability.
    """
    for name in INFORMATION_SETS:
        if name not in strategy or not 0 <= strategy[name] <= 1:
            raise ValueError(
                f"{name!r} has {strategy.get(name)}; a strategy needs a probability for each of "
                f"{', '.join(INFORMATION_SETS)}"
            )
    return (best_response_value(strategy, first=True) + best_response_value(strategy, first=False)) / 2


def _exact(strategy: Strategy) -> dict[str, Fraction]:
    return {name: Fraction(probability) for name, probability in strategy.items()}


def _deal_value(
    deal: tuple[int, ...], first: Mapping[str, Fraction], second: Mapping[str, Fraction]
) -> Fraction:
    mine, other = (CARDS[rank] for rank in deal)
    sign = 1 if deal[0] > deal[1] else -1
    bet, raised = first[f"{mine}:"], second[f"{other}:k"]
    call, called = first[f"{mine}:kb"], second[f"{other}:b"]
    after_bet = called * 2 * sign + (1 - called)
    after_check = raised * (call * 2 * sign - (1 - call)) + (1 - raised) * sign
    return bet * after_bet + (1 - bet) * after_check
