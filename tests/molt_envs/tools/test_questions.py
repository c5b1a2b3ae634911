"""Questions with a number for an answer: what is one, what is near enough, what a guess is worth."""

from __future__ import annotations

import numpy as np
import pytest

from molt_envs.tools.questions import (
    NUMBER_GRAMMAR,
    SPLIT_SHARES,
    Priors,
    Question,
    answering,
    read_number,
    split_of,
    write_number,
)


@pytest.mark.parametrize(("text", "value"), [("7", 7), (" -3.25\n", -3.25), ("0012", 12), ("5.0", 5)])
def test_a_number_is_read(text: str, value: float) -> None:
    assert read_number(text) == value


@pytest.mark.parametrize(
    "text", ["", "seven", "7 apples", "1e5", "nan", "inf", "٧", "7.", "--7", "9" * 13, " " * 80 + "7", "7\0"]
)
def test_all_else_is_none(text: str) -> None:
    assert read_number(text) is None


def test_the_last_number_of_a_message_is_the_action() -> None:
    assert NUMBER_GRAMMAR.extract("I count 3 and 4, so 7.") == "7"
    assert NUMBER_GRAMMAR.extract("none") == "none"


@pytest.mark.parametrize(("value", "text"), [(7, "7"), (0.5, "0.5"), (2 / 3, "0.67"), (120.0, "120")])
def test_a_number_is_written_short(value: float, text: str) -> None:
    assert write_number(value) == text


def test_an_answer_may_be_off_by_the_tolerance() -> None:
    exact, loose = Question("?", 7, "a"), Question("?", 70, "a", 2)
    assert exact.accepts(7) and not exact.accepts(7.01)
    assert loose.accepts(72) and loose.accepts(68) and not loose.accepts(72.01)


def test_an_answer_ends_the_episode_and_words_do_not() -> None:
    question = Question("?", 7, "a")
    right, wrong, words = (question.act(action) for action in ("7", "8", "seven"))
    assert (right.reward, right.terminated, right.success, right.score) == (1.0, True, True, 1.0)
    assert (wrong.reward, wrong.terminated, wrong.success) == (0.0, True, False)
    assert (words.reward, words.terminated) == (0.0, False)
    assert question.begin(np.ones((1, 1, 3), np.uint8)).observation == "?"


def test_the_best_guess_answers_most() -> None:
    exact = [Question("?", answer, "a") for answer in (1, 2, 2, 3)]
    loose = [Question("?", answer, "b", 1) for answer in (10, 11, 12, 40)]
    priors = Priors([*exact, *loose])
    assert priors.best_guess("a") == 2 and priors.best_guess("b") == 11
    assert priors.best_guess() == 11 and priors.best_guess("never seen") == 11
    blind = priors.baselines(exact[0], seed=0)["blind"]
    assert blind.act("?", {}) == "2"


def test_the_oracle_slips_as_often_as_it_is_told_to() -> None:
    question = Question("?", 7, "a")
    firsts = [answering(question, str(seed), 0.3).act("?", {}) for seed in range(1000)]
    assert 0.25 < firsts.count("I see it.") / 1000 < 0.35
    assert answering(question, "0", 0.0).act("?", {}) == "7"


def test_splits_have_their_shares() -> None:
    drawn = [split_of(("task", number)) for number in range(4000)]
    for split, share in SPLIT_SHARES.items():
        assert abs(drawn.count(split) / 4000 - share) < 0.03
