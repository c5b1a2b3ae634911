"""Several engines behind the seam of one: an episode stays where its cache is, new ones go to the least busy.

In: sessions, weights. Out: the same from the engines. An engine that fails is started again beside the
others, with the latest weights before its first episode; its running turns fail, so their episodes are
played again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from molt_train.rollout.engine import (
    Engine,
    EngineError,
    EngineSession,
    Generation,
    PromptTooLong,
    Sampling,
)
from molt_train.weight_sync import PublishedWeights

RESTART_PAUSE_S = 1.0
"""Between two tries to start an engine again."""
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Place:
    """An engine and how it stands."""

    engine: Engine
    index: int
    num_sessions: int = 0
    repair: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        """It is not being started again."""
        return self.repair is None or self.repair.done()


class EngineRouter:
    """Implements `Engine` over others of one model.

    Args:
        engines: at least one; the order breaks ties.
        restart_timeout_s: how long a failed engine is tried again before the run is told.
    """

    def __init__(self, engines: Sequence[Engine], restart_timeout_s: float = 600.0) -> None:
        if not engines:
            raise ValueError("a router without engines; give at least one")
        self._places = [_Place(engine, index) for index, engine in enumerate(engines)]
        self._restart_timeout_s = restart_timeout_s
        self._weights: PublishedWeights | None = None

    @property
    def policy_version(self) -> int:
        """The oldest version that an engine in use serves: no new token is older."""
        up = [place.engine.policy_version for place in self._places if place.is_up]
        return min(up) if up else self._version()

    @property
    def max_context_tokens(self) -> int:
        """Most tokens of a prompt and its turn together, in every engine."""
        return min(place.engine.max_context_tokens for place in self._places)

    async def start(self) -> None:
        """Start all of them. Raises `EngineError`."""
        await asyncio.gather(*(place.engine.start() for place in self._places))

    def open_session(self, order: int) -> RoutedSession:
        """Begin an episode on the engine with the fewest sessions, one that is up if there is any."""
        place = min(self._places, key=lambda place: (not place.is_up, place.num_sessions, place.index))
        place.num_sessions += 1
        return RoutedSession(self, place, place.engine.open_session(order))

    async def update_weights(self, weights: PublishedWeights) -> None:
        """Update those that are up; the others get the weights before they serve again.

        Raises:
            EngineError: none could be updated.
        """
        self._weights = weights
        up = [place for place in self._places if place.is_up]
        await asyncio.gather(*(self._update(place, weights) for place in up))
        while not any(place.is_up for place in self._places):
            repairs = [place.repair for place in self._places if place.repair is not None]
            done, _ = await asyncio.wait(repairs, return_when=asyncio.FIRST_COMPLETED)
            for repair in done:
                repair.result()

    def close(self) -> None:
        """End all of them; idempotent."""
        for place in self._places:
            if place.repair is not None:
                place.repair.cancel()
            place.engine.close()

    def failed(self, place: _Place, error: EngineError) -> None:
        """An engine failed a turn: see whether it lives, and start it again if not."""
        if place.is_up:
            _log.warning("engine %d failed: %s", place.index, error)
            place.repair = asyncio.create_task(self._repair(place), name=f"repair engine {place.index}")

    async def _update(self, place: _Place, weights: PublishedWeights) -> None:
        try:
            await place.engine.update_weights(weights)
        except EngineError as error:
            self.failed(place, error)
            return
        if place.engine.policy_version != weights.version:
            raise EngineError(
                f"engine {place.index} serves version {place.engine.policy_version}, not {weights.version}"
            )

    async def _repair(self, place: _Place) -> None:
        """Until it is up with the latest weights, however often these change meanwhile."""
        end = asyncio.get_running_loop().time() + self._restart_timeout_s
        while True:
            try:
                await place.engine.start()
                while place.engine.policy_version != self._version() and self._weights is not None:
                    await place.engine.update_weights(self._weights)
                return
            except EngineError as error:
                if asyncio.get_running_loop().time() > end:
                    raise EngineError(
                        f"engine {place.index} was not back within {self._restart_timeout_s} s: {error}"
                    ) from error
                await asyncio.sleep(RESTART_PAUSE_S)

    def _version(self) -> int:
        return 0 if self._weights is None else self._weights.version


class RoutedSession:
    """One episode's line to its engine; made by `EngineRouter.open_session`."""

    def __init__(self, router: EngineRouter, place: _Place, session: EngineSession) -> None:
        self._router, self._place, self._session = router, place, session
        self._is_open = True

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        """Sample one turn; see `EngineSession`. An engine that is being started again is waited for."""
        if not self._place.is_up and self._place.repair is not None:
            await asyncio.wait({self._place.repair})
            self._place.repair.result()
        try:
            return await self._session.generate(prompt_ids, sampling)
        except PromptTooLong:
            raise
        except EngineError as error:
            if self._is_open:
                self._router.failed(self._place, error)
            raise

    def close(self) -> None:
        """End the episode; idempotent."""
        if self._is_open:
            self._is_open = False
            self._place.num_sessions -= 1
            self._session.close()
