"""The seam between rollout and whatever samples tokens.

In: prompts as token ids with sampling parameters. Out: sampled ids with logprobs and policy versions.
An episode holds one `EngineSession`, so that an engine can keep its cache between turns and can tell when
every running episode has asked for its next turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from molt_train.weight_sync import PublishedWeights


class EngineError(RuntimeError):
    """The engine failed or timed out; the episode is unresolved."""


class PromptTooLong(EngineError):
    """The prompt leaves no room for a token within the engine's context."""


@dataclass(frozen=True)
class Sampling:
    """How one turn is sampled."""

    max_tokens: int
    """Most tokens of the turn; at least 1."""
    temperature: float = 1.0
    """Logits are divided by it; 0 is greedy, with logprobs of the distribution at temperature 1."""
    stop_ids: tuple[int, ...] = ()
    """A sampled stop id ends the turn and is part of it."""
    banned_ids: tuple[int, ...] = ()
    """Ids that are never sampled; the logprobs are of the distribution without them."""
    seed: int = 0
    """The turn's own seed: the sampled ids depend on it and on the prompt, not on what else runs."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}; a turn has at least one token")
        if not 0 <= self.temperature <= 100:
            raise ValueError(f"temperature is {self.temperature}; it lies in [0, 100]")


@dataclass(frozen=True)
class Generation:
    """One sampled turn; the three lists have one length."""

    token_ids: list[int]
    """Sampled ids, the stop id included when one was sampled."""
    logprobs: list[float]
    """Logprob of each id under the distribution that was sampled."""
    policy_versions: list[int]
    """Version of the weights that sampled each id."""
    stop_reason: Literal["stop", "length"]
    """`length`: the turn's limit or the context's end came before a stop id."""


class EngineSession(Protocol):
    """One episode's line to the engine. Prompts that extend the last one reuse its cache."""

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        """Sample one turn. Raises `PromptTooLong` or `EngineError`."""
        ...

    def close(self) -> None:
        """Give the cache back; idempotent."""
        ...


class Engine(Protocol):
    """Samples tokens for many episodes at once."""

    @property
    def policy_version(self) -> int:
        """Version of the weights in use."""
        ...

    @property
    def max_context_tokens(self) -> int:
        """Most tokens of a prompt and its turn together."""
        ...

    async def start(self) -> None:
        """Make ready to sample; idempotent. Raises `EngineError`."""
        ...

    def open_session(self, order: int) -> EngineSession:
        """Begin an episode; `order` (unique among open sessions) fixes its place in batches."""
        ...

    async def update_weights(self, weights: PublishedWeights) -> None:
        """Take new weights. Turns under way are paused, kept and go on with them, their later ids tagged with
        the new version; what was cached under the old ones is dropped.

        Raises:
            WeightMismatch: names, shapes or types are not the engine's.
            EngineError: the engine failed.
        """
        ...

    def close(self) -> None:
        """End the engine and all its turns; idempotent."""
        ...
