"""The progress display, in a terminal, in a pipe and silent."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from molt_train.monitor.live import LiveDisplay, sparkline
from molt_train.monitor.progress import Plain, Progress, Silent, make_progress


def play(progress: Progress) -> None:
    with progress:
        progress.begin("rl", 2)
        progress.phase("rollout", 4)
        progress.advance()
        progress.step(1, {"reward_mean": 0.5, "success_rate": 0.25, "num_failed": 3, "tokens_per_s": 12345.6})
        progress.evaluation(
            1, "rl", 0.0, {"eval_success_rate": 0.5, "eval_num_episodes": 200, "eval_num_length": 2}
        )
        progress.say("[not markup]")


def console(terminal: bool) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=terminal, width=100, color_system=None), file


def test_a_pipe_gets_one_plain_line_per_event() -> None:
    target, file = console(terminal=False)
    progress = make_progress(target)
    assert isinstance(progress, Plain)
    play(progress)
    assert file.getvalue().splitlines() == [
        "rl: 2 steps",
        "rl 1/2  reward 0.500  success 25.0%  tok/s 12,346  3 failed",
        "evaluation rl after step 1  (greedy)  success 50.0%  of 200 episodes  2 length",
        "[not markup]",
    ]


def test_a_terminal_gets_a_live_display() -> None:
    target, file = console(terminal=True)
    progress = make_progress(target)
    assert isinstance(progress, LiveDisplay)
    play(progress)
    text = file.getvalue()
    assert "1/2" in text and "25.0%" in text and "3 failed" in text and "[not markup]" in text
    assert "[bold]" not in text


def test_quiet_shows_nothing() -> None:
    target, file = console(terminal=True)
    progress = make_progress(target, quiet=True)
    assert isinstance(progress, Silent)
    play(progress)
    assert file.getvalue() == ""


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([], ""),
        ([1.0], "▄"),
        ([0.0, 1.0], "▁█"),
        ([math.nan, 0.0, math.inf, 1.0], "▁█"),
        ([2.0] * 3, "▄▄▄"),
    ],
)
def test_sparkline(values: list[float], drawn: str) -> None:
    assert sparkline(values) == drawn


def test_sparkline_averages_what_does_not_fit() -> None:
    assert sparkline([float(n) for n in range(100)], width=4) == "▁▃▆█"
