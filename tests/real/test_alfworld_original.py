"""The household engine against the `alfworld` package: 24 games of all six types, every word compared."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.alfworld import compare_game, original_env
from scripts.alfworld_games import GOAL_ROOMS, Source

NUM_GAMES, NUM_RANDOM = 24, 12


@pytest.fixture(scope="module")
def original() -> Any:
    pytest.importorskip("alfworld", reason="the differential test needs alfworld and textworld")
    return original_env()


@pytest.mark.real
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(len(GOAL_ROOMS)), ids=list(GOAL_ROOMS))
def test_games_go_the_same_way_in_both_engines(original: Any, first: int) -> None:
    source = Source.load()
    reports = [
        compare_game(original, source, 1000 + number, NUM_RANDOM)
        for number in range(NUM_GAMES)
        if (1000 + number) % len(GOAL_ROOMS) == first
    ]
    assert len(reports) == NUM_GAMES // len(GOAL_ROOMS)
    assert [report.differences for report in reports] == [[]] * len(reports)
    assert all(report.done and report.num_steps > NUM_RANDOM for report in reports)
