"""Answers that a scorer would run, and honest ones that it must see."""

from __future__ import annotations

import pytest

from molt_envs.families.reasoning_gym.guard import may_be_scored


@pytest.mark.parametrize(
    "answer",
    [
        'open("stolen", "w")',
        "open(1)",
        "__import__",
        "ｏｐｅｎ(1)",
        "exec(x)",
        "S(x)",
        "x.__class__",
        "lambda: 0",
        "[1]",
        "9**9**9",
        "9**(99)**99",
        "2**100000",
        "2^ 100000",
        "1+" * 600 + "1",
    ],
)
def test_a_formula_that_could_run_code_or_run_for_ever_is_refused(answer: str) -> None:
    assert not may_be_scored("simple_integration", answer)


@pytest.mark.parametrize(
    "answer",
    [
        "-34*x**8/15 - 5*x/4 + C",
        "-4*(-2*x - 8)**(3/2)/3 + C",
        "sin(X)**2*exp(-x) + sqrt(2)",
        "10*(8 - 5) - 6",
    ],
)
def test_a_formula_may_be_scored(answer: str) -> None:
    assert may_be_scored("simple_integration", answer)


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [("[[0, 1], [1, 2]]", True), ("['A', 'B']", True), ("exit()", False), ("9**9", False)],
)
def test_a_literal_may_hold_no_call(answer: str, allowed: bool) -> None:
    assert may_be_scored("binary_matrix", answer) is allowed


def test_other_data_sets_see_any_text_that_is_not_huge() -> None:
    assert may_be_scored("leg_counting", "open(1)")
    assert not may_be_scored("leg_counting", "x" * 20_001)
