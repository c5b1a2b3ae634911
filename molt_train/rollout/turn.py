"""One turn while it is sampled: where its prompt is cached, what was sampled so far, when it ends.

In: prompt ids and `Sampling`; sampled ids one by one. Out: a `Generation`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from molt_train.rollout.engine import Generation, Sampling

_NOISE_BLOCK = 32
_NOISE_STEPS = 2**32


@dataclass(eq=False)
class Turn:
    """A request of one session, from submission to its last token."""

    prompt_ids: list[int]
    """The whole prompt."""
    sampling: Sampling
    """How to sample."""
    max_tokens: int
    """Most tokens, the context's end considered."""
    slot: int | None = None
    """Row of the cache; None while the turn waits to join the batch."""
    num_cached: int = 0
    """Leading prompt ids whose keys and values lie in the slot."""
    token_ids: list[int] = field(default_factory=list[int])
    """Sampled ids."""
    logprobs: list[float] = field(default_factory=list[float])
    """Their logprobs."""
    policy_versions: list[int] = field(default_factory=list[int])
    """The weights that sampled them."""
    stopped: bool = False
    """The last id is a stop id."""
    cancelled: bool = False
    """Nobody waits for it any more; it is dropped at the next step."""

    def __post_init__(self) -> None:
        self._stop_ids = frozenset(self.sampling.stop_ids)
        self._noise = Noise(self.sampling.seed)

    @property
    def is_done(self) -> bool:
        """A stop id was sampled, or the turn is at its longest, or it was cancelled."""
        return self.stopped or self.cancelled or len(self.token_ids) >= self.max_tokens

    @property
    def num_tokens(self) -> int:
        """Ids of the prompt and the turn together."""
        return len(self.prompt_ids) + len(self.token_ids)

    @property
    def row(self) -> int:
        """The slot of a turn that has joined the batch."""
        assert self.slot is not None
        return self.slot

    @property
    def known_ids(self) -> list[int]:
        """The prompt and what was sampled."""
        return [*self.prompt_ids, *self.token_ids] if self.token_ids else self.prompt_ids

    def join(self, slot: int, cached_ids: list[int]) -> None:
        """Take a slot whose row holds `cached_ids`; the common prefix is not computed again.

        The last known id always is: its logits give the next sampled id.
        """
        self.slot = slot
        self.num_cached = min(common_prefix(self.known_ids, cached_ids), self.num_tokens - 1)

    def leave(self) -> None:
        """Give the slot up in the middle of the turn, to join again: its keys and values no longer hold."""
        self.slot = None

    def computed_ids(self) -> list[int]:
        """The ids whose keys and values lie in the slot: the last sampled id has not been fed yet."""
        num_computed = max(self.num_cached, self.num_tokens - 1) if self.token_ids else self.num_cached
        return [*self.prompt_ids, *self.token_ids][:num_computed]

    def next_uniform(self) -> float:
        """The random number of the next token."""
        return self._noise.at(len(self.token_ids))

    def add(self, token_id: int, logprob: float, policy_version: int) -> None:
        """Append one sampled id."""
        self.token_ids.append(token_id)
        self.logprobs.append(logprob)
        self.policy_versions.append(policy_version)
        self.stopped = token_id in self._stop_ids

    def generation(self) -> Generation:
        """The finished turn."""
        reason = "stop" if self.stopped else "length"
        return Generation(self.token_ids, self.logprobs, self.policy_versions, reason)


def common_prefix(left: list[int], right: list[int]) -> int:
    """Number of leading ids that are equal."""
    shorter = min(len(left), len(right))
    if left[:shorter] == right[:shorter]:
        return shorter
    return next(index for index in range(shorter) if left[index] != right[index])


class Noise:
    """Numbers in [0, 1) by (seed, index): the same in every process and beside every batch companion.

    32 bits each, so that `number * total < total` holds exactly in float64.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(key=seed % 2**128))
        self._values: list[float] = []

    def at(self, index: int) -> float:
        """The number of token `index` of the turn."""
        while index >= len(self._values):
            block = self._generator.integers(0, _NOISE_STEPS, size=_NOISE_BLOCK, dtype=np.uint32)
            self._values += (block / _NOISE_STEPS).tolist()
        return self._values[index]
