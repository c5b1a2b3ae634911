"""A game for two seats with one fault each."""

from __future__ import annotations

from typing import Any

from molt_envs.families.games.kuhn import KuhnPoker
from molt_envs.multi_agent import SeatEnv


class Shouting(KuhnPoker):
    """The other seat loses more than is declared."""

    def _play(self, seat: int, action: str) -> tuple[float, ...]:
        first, second = super()._play(seat, action)
        return first, min(second, 100 * second)


class Hiding(KuhnPoker):
    """Tells a seat nothing at all about its own standing."""

    def info(self, seat: int) -> dict[str, Any]:
        return None  # type: ignore[return-value]


class ShoutingEnv(SeatEnv):
    """`Shouting` from the seat that is well paid."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(Shouting(), render_mode=render_mode)


class HidingEnv(SeatEnv):
    """`Hiding` from the first seat."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(Hiding(), render_mode=render_mode)
