"""The live display in a terminal: a bar for the run, one for what goes on, the course of the main numbers.

In: events of the loop. Out: a few lines that are redrawn in place; evaluations and messages stay above them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from molt_train.monitor.summary import eval_line, outcome_counts

_TRACKED: tuple[tuple[str, str, str], ...] = (
    ("success_rate", "success", "{:.1%}"),
    ("reward_mean", "reward", "{:.3f}"),
    ("entropy", "entropy", "{:.3f}"),
    ("sft_loss", "loss", "{:.4f}"),
    ("tokens_per_s", "tok/s", "{:,.0f}"),
)
_BARS = "▁▂▃▄▅▆▇█"
_SPARK_WIDTH = 40


class LiveDisplay:
    """Draws on a terminal; see `molt_train.monitor.progress.Progress` for the events."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Progress(
            TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(),
            TimeElapsedColumn(), TimeRemainingColumn(), console=console,
        )  # fmt: skip
        self._steps = self._bars.add_task("starting", total=None)
        self._now = self._bars.add_task("", total=None, visible=False)
        self._history: dict[str, list[float]] = {}
        self._outcomes = ""
        self._live = Live(self._draw(), console=console, refresh_per_second=4)

    def __enter__(self) -> LiveDisplay:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bars.update(self._now, visible=False)
        self._live.update(self._draw())
        self._live.__exit__(kind, error, traceback)

    def begin(self, title: str, num_steps: int, first_step: int = 0) -> None:
        """See `Progress.begin`."""
        self._history.clear()
        self._bars.reset(self._steps, total=num_steps, completed=first_step, description=title)
        self._live.update(self._draw())

    def phase(self, what: str, total: int = 0) -> None:
        """See `Progress.phase`."""
        self._bars.reset(self._now, total=total or None, description=what, visible=True)

    def advance(self, count: int = 1) -> None:
        """See `Progress.advance`."""
        self._bars.advance(self._now, count)

    def step(self, step: int, values: Mapping[str, float]) -> None:
        """See `Progress.step`."""
        self._bars.update(self._steps, completed=step)
        for name, _, _ in _TRACKED:
            if name in values:
                self._history.setdefault(name, []).append(values[name])
        self._outcomes = outcome_counts(values)
        self._live.update(self._draw())

    def evaluation(self, step: int, label: str, temperature: float, values: Mapping[str, float]) -> None:
        """See `Progress.evaluation`."""
        self.say(f"evaluation {label} after step {step}  {eval_line(temperature, values)}")

    def say(self, text: str) -> None:
        """See `Progress.say`."""
        self._console.print(text, markup=False, highlight=False)

    def _draw(self) -> Group:
        table = Table.grid(padding=(0, 2))
        for name, label, form in _TRACKED:
            values = self._history.get(name)
            if values:
                # Text, not markup: `say` prints with markup off, and that holds for what is redrawn below it.
                table.add_row(label, Text(form.format(values[-1]), "bold"), Text(sparkline(values), "cyan"))
        if self._outcomes:
            table.add_row("others", self._outcomes, "")
        return Group(self._bars, table)


def sparkline(values: Sequence[float], width: int = _SPARK_WIDTH) -> str:
    """The course of the values in block characters, at most `width` of them, averaged where needed."""
    finite = [value for value in values if abs(value) < float("inf")]
    if not finite:
        return ""
    count = min(width, len(finite))
    edges = [index * len(finite) // count for index in range(count + 1)]
    means = [sum(finite[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(means), max(means)
    span = high - low
    return "".join(_BARS[int((value - low) / span * 7.999) if span > 0 else 3] for value in means)
