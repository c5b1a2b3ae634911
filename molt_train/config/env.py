"""Section `env`: which environment, and what the policy is shown of it. In: TOML values. Out: `EnvConfig`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from molt_train.config.base import Section


class EnvConfig(Section):
    """The environment that episodes are played in."""

    id: str = Field(min_length=1)
    """Registered id, as in `gymnasium.make`; `molt-envs list` names them."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """Keyword arguments of the environment, e.g. `env.kwargs.max_turns=10`."""
    history: Literal["full", "window", "summary"] = "full"
    """Show the whole conversation, or its head and its last `window_turns` turns, or these and a summary."""
    window_turns: int = Field(default=4, ge=1, le=1000)
    """Turns that always stay visible with `history = "window"` or `"summary"`."""
    summary_every: int = Field(default=4, ge=1, le=1000)
    """Turns between two renewals of the summary; a segment holds so many."""
    blind: bool = False
    """Control: observations are replaced by a fixed text, so that nothing can be read from them."""
