"""What plays an environment in text: an oracle, a script, a random agent.

In: observations and `info`. Out: actions. A policy that needs the environment's secrets is given it when
it is made, never through `info`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Policy(Protocol):
    """Plays one episode; make a new one for the next."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        ...
