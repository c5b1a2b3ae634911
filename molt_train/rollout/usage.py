"""Who waits for whom while episodes run: seconds in which the engine had nothing to do, and why.

In: episodes and turns as they begin and end, on the event loop. Out: a `Waits` for any stretch of time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass

from molt_train.rollout.engine import EngineSession, Generation, Sampling


@dataclass(frozen=True)
class Waits:
    """Seconds since the start; the difference of two says what happened between them."""

    wall_s: float
    """Time."""
    no_episode_s: float
    """No episode ran: the engine waited for the learner."""
    no_turn_s: float
    """Episodes ran, and all of them were in their environments: the engine waited for these."""
    episodes_s: float
    """Summed over episodes: from their start to their end."""
    turns_s: float
    """Summed over episodes: the engine's part of that, queueing included."""

    def __sub__(self, earlier: Waits) -> Waits:
        return Waits(*(now - then for now, then in zip(astuple(self), astuple(earlier), strict=True)))


class Usage:
    """Adds up who waits. The clock is monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = self._last = clock()
        self._num_episodes = self._num_turns = 0
        self._no_episode_s = self._no_turn_s = self._episodes_s = self._turns_s = 0.0

    @property
    def num_episodes(self) -> int:
        """Episodes that run now."""
        return self._num_episodes

    @contextmanager
    def episode(self) -> Generator[None]:
        """An episode runs."""
        self._advance()
        self._num_episodes += 1
        try:
            yield
        finally:
            self._advance()
            self._num_episodes -= 1

    @contextmanager
    def turn(self) -> Generator[None]:
        """An episode waits for the engine."""
        self._advance()
        self._num_turns += 1
        try:
            yield
        finally:
            self._advance()
            self._num_turns -= 1

    def waits(self) -> Waits:
        """The sums up to now."""
        self._advance()
        return Waits(
            self._last - self._start, self._no_episode_s, self._no_turn_s, self._episodes_s, self._turns_s
        )

    def _advance(self) -> None:
        now = self._clock()
        elapsed_s, self._last = now - self._last, now
        self._episodes_s += elapsed_s * self._num_episodes
        self._turns_s += elapsed_s * self._num_turns
        if self._num_episodes == 0:
            self._no_episode_s += elapsed_s
        elif self._num_turns == 0:
            self._no_turn_s += elapsed_s


class TimedSession:
    """An `EngineSession` whose turns are counted."""

    def __init__(self, session: EngineSession, usage: Usage) -> None:
        self._session, self._usage = session, usage

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        """Sample one turn; see `EngineSession`."""
        with self._usage.turn():
            return await self._session.generate(prompt_ids, sampling)

    def close(self) -> None:
        """Give the cache back."""
        self._session.close()
