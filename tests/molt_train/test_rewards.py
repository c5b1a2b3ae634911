"""Rules that turn an episode into a number, and graders that fail."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from molt_envs import Episode
from molt_train.rewards import REWARDS, grade, load_reward
from tests.molt_train.episodes import make_episode, make_segment


def episode(score: float | None = 0.5, success: bool | None = True, outcome: str = "terminated") -> Episode:
    segment = make_segment([1], [([2], [3]), ([4], [])])
    return make_episode([segment, segment], score=score, success=success, outcome=outcome)


@pytest.mark.parametrize(
    ("name", "expected"), [("env", 2.0), ("success", 1.0), ("mostly_success", 0.8 + 0.2 * 0.5)]
)
def test_the_named_rules(name: str, expected: float) -> None:
    assert grade(episode(), load_reward(name)).reward == pytest.approx(expected)


def test_every_rule_is_tested() -> None:
    assert set(REWARDS) == {"env", "success", "mostly_success"}


def test_unscored_stays_unscored() -> None:
    unscored = episode(score=None, success=None)
    assert REWARDS["success"](unscored) is None
    assert REWARDS["mostly_success"](unscored) is None
    assert grade(unscored, REWARDS["success"]).episode.outcome == "terminated"


def test_an_unresolved_episode_is_not_graded() -> None:
    def explode(_: Episode) -> float:
        raise AssertionError("graded")

    graded = grade(episode(None, None, "unresolved"), explode)
    assert graded.reward is None and graded.episode.reason == ""


def broken(_: Episode) -> float:
    raise ConnectionError("grader is down")


@pytest.mark.parametrize(
    ("grader", "reason"),
    [
        (broken, "grader: ConnectionError: grader is down"),
        (lambda _: math.nan, "grader: ValueError: the reward function gave nan"),
        (lambda _: math.inf, "gave inf"),
        (lambda _: "1", "grader: TypeError"),
    ],
)
def test_a_grader_that_fails_makes_its_episode_unresolved(
    grader: Callable[[Episode], float], reason: str
) -> None:
    good, bad = episode(), episode()
    results = [grade(good, lambda _: 1.0), grade(bad, grader)]
    assert (results[0].reward, results[0].episode.outcome) == (1.0, "terminated")
    assert results[1].reward is None
    assert (results[1].episode.outcome, results[1].episode.score) == ("unresolved", None)
    assert reason in results[1].episode.reason
    assert results[1].episode.segments == bad.segments


def test_a_function_of_a_module_is_found() -> None:
    assert load_reward("tests.molt_train.test_rewards:broken") is not None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("solved", "unknown reward 'solved'; known are env, success"),
        ("no_such_module_here:f", "cannot import 'no_such_module_here'"),
        ("math:no_such_function", "math has no function 'no_such_function'"),
        ("math:pi", "math has no function 'pi'"),
    ],
)
def test_a_wrong_name_is_explained(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_reward(name)
