"""The answers: each solution on numbers whose answer is known or can be counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from molt_envs.families.python_tool import solutions

SALES = [
    {"sale": "1", "day": "2021-01-03", "region": "north", "product": "rug", "quantity": "2", "price": "1.5"},
    {"sale": "2", "day": "2021-02-01", "region": "north", "product": "rug", "quantity": "3", "price": "2.0"},
    {
        "sale": "3",
        "day": "2021-01-13",
        "region": "north",
        "product": "lamp",
        "quantity": "4",
        "price": "0.25",
    },
    {"sale": "4", "day": "2021-01-04", "region": "south", "product": "rug", "quantity": "9", "price": "1.0"},
]
DIRTY = [*SALES, SALES[0] | {"quantity": "77"}, SALES[1] | {"sale": "5", "quantity": ""}]
PRICES = [{"product": "rug", "cents": "100"}, {"product": "lamp", "cents": "7"}]
GLIDER = [".#......", "..#.....", "###.....", *["........"] * 5]
CASES: list[tuple[Callable[..., Any], tuple[Any, ...], float]] = [
    (solutions.subset_sums, ([1, 2, 3, 4], 5), 2),
    (solutions.coin_ways, ([1, 2, 5], 5), 4),
    (solutions.grid_paths, (3, 3, [(1, 1)]), 2),
    (solutions.grid_paths, (5, 4, []), 35),
    (solutions.digit_primes, (2, 30, 5), 3),  # 5, 19, 23
    (solutions.power_tail, (2, 10, 1000), 24),
    (solutions.factorial_digits, (10, 8), 2),  # 3628800
    (solutions.longest_chain, (1, 10), 9),
    (solutions.recipe_count, (1, 2, 1, 7, 4, 2), 2),  # 3, 0, 1, 3
    (solutions.determinant, ([[2, 1, 0], [1, 3, 0], [5, 5, 2]],), 10),
    (solutions.determinant, ([[0, 1], [1, 0]],), -1),
    (solutions.unknown_sum, ([[0, 4], [2, 0]], [4, 3]), 2.5),
    (solutions.weekday_hits, (13, 4, 2026, 2026), 3),  # February, March, November
    (solutions.last_left, (41, 3), 31),
    (solutions.spaced_orders, ([1, 3, 4], 2, 3), 2),  # 3 1 4 and its reverse
    (solutions.spaced_orders, ([1, 3, 4], 1, 2), 2),  # 1 3 4 and its reverse
    (solutions.work_days, ("2024-01-01", "2024-01-07", ["2024-01-02", "2024-01-06"]), 4),
    (solutions.revenue, (SALES, "north", "2021-01"), 4.0),
    (solutions.best_seller, (SALES, "north"), 5),
    (solutions.median_value, (SALES, "rug"), 6.0),
    (solutions.longest_pause, (SALES, "rug", "north"), 29),
    (solutions.square_sums, (1, 10), 4),  # 2, 5, 8, 10
    (solutions.living_cells, (GLIDER, 32), 5),
    (solutions.living_cells, (["....", ".##.", ".##.", "...."], 5), 4),
    (solutions.decimal_period, (2, 10), 7),
    (solutions.priced_units, (SALES, PRICES, "north"), 528),
    (solutions.clean_mean, (DIRTY, "north"), 3.0),
]


@pytest.mark.parametrize(("solve", "arguments", "answer"), CASES, ids=[case[0].__name__ for case in CASES])
def test_known_answers(solve: Callable[..., Any], arguments: tuple[Any, ...], answer: float) -> None:
    assert solve(*arguments) == answer


def test_every_solution_is_checked() -> None:
    defined = {name for name, value in vars(solutions).items() if callable(value) and name[0].islower()}
    assert {case[0].__name__ for case in CASES} == defined
