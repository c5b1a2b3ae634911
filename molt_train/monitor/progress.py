"""What a person sees while a run goes on: a live display in a terminal, plain lines elsewhere, or nothing.

In: events of the loop. Out: text on the console. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol

from rich.console import Console

from molt_train.monitor.live import LiveDisplay
from molt_train.monitor.summary import eval_line, step_line


class Progress(Protocol):
    """Takes a run's events; used in a `with` block."""

    def __enter__(self) -> Progress: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def begin(self, title: str, num_steps: int, first_step: int = 0) -> None:
        """A part of the run begins, e.g. `rl` with 100 steps, going on after `first_step`."""
        ...

    def phase(self, what: str, total: int = 0) -> None:
        """Something that takes a while begins, e.g. `rollout` of 128 episodes."""
        ...

    def advance(self, count: int = 1) -> None:
        """Part of the phase is done, e.g. one episode."""
        ...

    def step(self, step: int, values: Mapping[str, float]) -> None:
        """A training step (1-based) is done, with its metrics and timings."""
        ...

    def evaluation(self, step: int, label: str, temperature: float, values: Mapping[str, float]) -> None:
        """An evaluation is done."""
        ...

    def say(self, text: str) -> None:
        """A line that stays on the screen."""
        ...


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def begin(self, title: str, num_steps: int, first_step: int = 0) -> None:
        """See `Progress.begin`."""

    def phase(self, what: str, total: int = 0) -> None:
        """See `Progress.phase`."""

    def advance(self, count: int = 1) -> None:
        """See `Progress.advance`."""

    def step(self, step: int, values: Mapping[str, float]) -> None:
        """See `Progress.step`."""

    def evaluation(self, step: int, label: str, temperature: float, values: Mapping[str, float]) -> None:
        """See `Progress.evaluation`."""

    def say(self, text: str) -> None:
        """See `Progress.say`."""


class Plain(Silent):
    """One line per step and evaluation, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console, self._title, self._num_steps = console, "", 0

    def begin(self, title: str, num_steps: int, first_step: int = 0) -> None:
        """See `Progress.begin`."""
        self._title, self._num_steps = title, num_steps
        self.say(
            f"{title}: {num_steps} steps" + (f", going on after step {first_step}" if first_step else "")
        )

    def step(self, step: int, values: Mapping[str, float]) -> None:
        """See `Progress.step`."""
        self.say(f"{self._title} {step}/{self._num_steps}  {step_line(values)}")

    def evaluation(self, step: int, label: str, temperature: float, values: Mapping[str, float]) -> None:
        """See `Progress.evaluation`."""
        self.say(f"evaluation {label} after step {step}  {eval_line(temperature, values)}")

    def say(self, text: str) -> None:
        """See `Progress.say`."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def make_progress(console: Console, quiet: bool = False) -> Progress:
    """The display that suits the console: live in a terminal, plain lines elsewhere."""
    if quiet:
        return Silent()
    return LiveDisplay(console) if console.is_terminal else Plain(console)
