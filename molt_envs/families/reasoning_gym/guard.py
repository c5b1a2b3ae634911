"""Answers that must not reach the library's scorers: some of them run an answer as Python.

In: a data set's name and an answer. Out: whether it may be scored; one that may not is worth 0.
"""

from __future__ import annotations

import re

NUM_ANSWER_CHARS = 20_000
NUM_FORMULA_CHARS = 1_000
# Their scorers give the answer to sympy's parse_expr, which evaluates it with Python's built-ins at hand.
FORMULAS = frozenset(
    {"countdown", "intermediate_integration", "polynomial_multiplication", "puzzle24", "simple_integration"}
)
# Their scorers call eval on the answer.
LITERALS = frozenset({"binary_matrix", "n_queens", "spiral_matrix", "string_insertion"})
FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "sec", "csc", "cot", "asin", "acos", "atan", "sinh", "cosh", "tanh"}
    | {"exp", "log", "ln", "sqrt", "pi", "abs", "Abs"}
)
# Single letters are variables, but for those that sympy binds to functions.
_NAME = re.compile(r"[A-Za-z_]\w*")
_LETTER = re.compile(r"[A-MPRT-Za-z]")
_FORMULA = re.compile(r"[\w\s+\-*/^().,=]*", re.ASCII)
_HUGE_POWER = re.compile(r"(?:\*\*|\^)[\s(+-]*\d{4}|\*\*[^+\-*/]*\*\*")


def may_be_scored(dataset: str, answer: str) -> bool:
    """Whether the scorer of `dataset` may see `answer`.

    Formulas may hold numbers, single letters and `FUNCTIONS`, and no tower of powers; literals no call.
    """
    if len(answer) > NUM_ANSWER_CHARS:
        return False
    if dataset in FORMULAS:
        names = _NAME.findall(answer)
        plain = len(answer) <= NUM_FORMULA_CHARS and _FORMULA.fullmatch(answer) is not None
        known = all(name in FUNCTIONS or _LETTER.fullmatch(name) for name in names)
        return plain and known and _HUGE_POWER.search(answer) is None
    if dataset in LITERALS:
        return "(" not in answer and "**" not in answer
    return True
