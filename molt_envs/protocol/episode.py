"""Segments and episodes: the record of what a policy saw and sampled, in token ids.

In: per-token arrays written while an episode ran. Out: frozen values whose invariants hold from construction.
Shapes: T tokens of a segment, R action ranges of a segment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from molt_envs.errors import ProtocolError

MAX_LOGPROB = 1e-3
"""A logprob is at most 0; what rounding adds stays below this."""
PROTOCOL_VERSION = 1

IntArray: TypeAlias = NDArray[np.int32]
FloatArray: TypeAlias = NDArray[np.float32]
BoolArray: TypeAlias = NDArray[np.bool_]

Outcome = Literal["terminated", "truncated", "length", "failed", "unresolved"]
StopReason = Literal["terminated", "truncated", "length", "rewritten", "failed", "unresolved"]
COMPLETED: frozenset[Outcome] = frozenset({"terminated", "truncated", "length"})
TRAINABLE: frozenset[Outcome] = COMPLETED | frozenset[Outcome]({"failed"})
NOT_SAMPLED = -1
"""The policy version of a token that no policy sampled."""


@dataclass(frozen=True, eq=False)
class ImageSpan:
    """Pixels and the run of placeholder tokens that stands for them."""

    start: int
    """First placeholder token, absolute in the segment."""
    end: int
    """One past the last placeholder token."""
    pixels: NDArray[np.uint8]
    """(height, width, 3) uint8."""


@dataclass(frozen=True, eq=False)
class Segment:
    """One unbroken token sequence: each prompt extends the one before it.

    Index k of every per-token array belongs to token k. Raises `ProtocolError` when an invariant is broken.
    """

    token_ids: IntArray
    """(T,) int32: prompt, actions and observations in order."""
    action_ranges: tuple[tuple[int, int], ...]
    """R half-open absolute ranges, sorted and disjoint: one per policy turn. Token 0 is never an action."""
    logprobs: FloatArray
    """(T,) float32: the sampled distribution's logprob at action tokens, 0 elsewhere."""
    policy_versions: IntArray
    """(T,) int32: the weights' version that sampled the token, `NOT_SAMPLED` elsewhere."""
    rewards: tuple[float | None, ...]
    """R rewards, each of the turn that earned it; None is unscored."""
    loss_mask: BoolArray
    """(T,) bool: which action tokens are trained on. A decision; never true outside the action mask."""
    stop_reason: StopReason
    """Why nothing follows in this segment; `rewritten`: the next prompt does not extend this one."""
    state_keys: tuple[str | None, ...] = ()
    """R keys of the state each turn was taken in, or empty when the environment has none."""
    images: tuple[ImageSpan, ...] = ()
    """Images in the order of their placeholder runs."""
    routed_experts: NDArray[np.int16] | None = None
    """(T, layers, top_k) int16: experts chosen in rollout, where the engine reports them."""
    parent: int | None = None
    """Index of the episode's segment that this one branches from, for trees."""
    bootstrap_ids: IntArray | None = None
    """Ids of the last observation when the episode was cut by a limit: what a value bootstrap would read."""

    def __post_init__(self) -> None:
        self._check_dtypes()
        num_tokens = len(self.token_ids)
        if num_tokens == 0:
            raise ProtocolError("a segment has no tokens")
        if self.stop_reason not in get_args(StopReason):
            known = ", ".join(get_args(StopReason))
            raise ProtocolError(f"stop_reason {self.stop_reason!r}; known are {known}")
        for name, array in (
            ("logprobs", self.logprobs),
            ("policy_versions", self.policy_versions),
            ("loss_mask", self.loss_mask),
        ):
            if array.shape != (num_tokens,):
                raise ProtocolError(f"{name} has shape {array.shape}, token_ids has ({num_tokens},)")
        if self.routed_experts is not None and len(self.routed_experts) != num_tokens:
            raise ProtocolError(f"routed_experts has {len(self.routed_experts)} rows for {num_tokens} tokens")
        _check_ranges(self.action_ranges, num_tokens)
        self._check_turns()
        self._check_tokens()
        self._check_images(num_tokens)

    @property
    def action_mask(self) -> BoolArray:
        """(T,) bool: the union of the action ranges: tokens that the policy sampled."""
        mask = np.zeros(len(self.token_ids), dtype=np.bool_)
        for start, end in self.action_ranges:
            mask[start:end] = True
        return mask

    @property
    def num_action_tokens(self) -> int:
        """How many tokens the policy sampled."""
        return sum(end - start for start, end in self.action_ranges)

    def _check_dtypes(self) -> None:
        arrays: tuple[tuple[str, NDArray[np.generic] | None, type[np.generic], int], ...] = (
            ("token_ids", self.token_ids, np.int32, 1),
            ("logprobs", self.logprobs, np.float32, 1),
            ("policy_versions", self.policy_versions, np.int32, 1),
            ("loss_mask", self.loss_mask, np.bool_, 1),
            ("routed_experts", self.routed_experts, np.int16, 3),
            ("bootstrap_ids", self.bootstrap_ids, np.int32, 1),
        )
        for name, array, dtype, ndim in arrays:
            if array is not None and (array.dtype != dtype or array.ndim != ndim):
                raise ProtocolError(
                    f"{name} is {array.dtype} with {array.ndim} axes, not {np.dtype(dtype)} with {ndim}"
                )

    def _check_turns(self) -> None:
        num_turns = len(self.action_ranges)
        if len(self.rewards) != num_turns:
            raise ProtocolError(f"{len(self.rewards)} rewards for {num_turns} action ranges")
        if self.state_keys and len(self.state_keys) != num_turns:
            raise ProtocolError(f"{len(self.state_keys)} state_keys for {num_turns} action ranges")
        for reward in self.rewards:
            if reward is not None and not math.isfinite(reward):
                raise ProtocolError(f"reward {reward} is not finite; an unscored turn is None")

    def _check_tokens(self) -> None:
        mask = self.action_mask
        if bool((self.token_ids < 0).any()):
            raise ProtocolError(f"negative token id {int(self.token_ids.min())}")
        if self.bootstrap_ids is not None and bool((self.bootstrap_ids < 0).any()):
            raise ProtocolError(f"negative token id {int(self.bootstrap_ids.min())} in bootstrap_ids")
        if bool((self.loss_mask & ~mask).any()):
            raise ProtocolError("loss_mask covers a token that the policy did not sample")
        sampled = self.logprobs[mask]
        if not bool(np.isfinite(sampled).all()):
            raise ProtocolError("an action token has no finite logprob; a missing one is an error, never 0")
        if bool((sampled > MAX_LOGPROB).any()):
            raise ProtocolError(f"logprob {float(sampled.max())} is above 0")
        if bool((self.logprobs[~mask] != 0).any()):
            raise ProtocolError("a token that the policy did not sample has a logprob")
        if bool((self.policy_versions[mask] < 0).any()):
            raise ProtocolError("an action token has no policy version")
        if bool((self.policy_versions[~mask] != NOT_SAMPLED).any()):
            raise ProtocolError("a token that the policy did not sample has a policy version")

    def _check_images(self, num_tokens: int) -> None:
        _check_ranges(tuple((image.start, image.end) for image in self.images), num_tokens, what="image span")
        mask = self.action_mask
        for image in self.images:
            shape = image.pixels.shape
            if image.pixels.dtype != np.uint8 or len(shape) != 3 or shape[2] != 3:
                raise ProtocolError(
                    f"image pixels are {image.pixels.dtype} {shape}, not uint8 (height, width, 3)"
                )
            if bool(mask[image.start : image.end].any()):
                raise ProtocolError("an image placeholder lies in an action range; those ids must be banned")


@dataclass(frozen=True)
class SamplingRecord:
    """How the tokens were sampled, kept with the episode so that it can be scored again."""

    temperature: float
    """0 is greedy; logprobs are of the distribution at this temperature (at 1 when greedy)."""
    max_tokens: int
    """Most tokens of one turn."""
    seed: int
    """The episode's own sampling seed."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ProtocolError(f"temperature {self.temperature} is not a finite number of at least 0")


@dataclass(frozen=True, eq=False)
class Episode:
    """One attempt at one task. Its segments are ordered; it counts once in its group."""

    episode_id: str
    """Unique in a run."""
    env_id: str
    """The registered id, `ns/Name-vN`."""
    task_id: str
    """The environment's name of the task."""
    seed: int
    """The seed that `reset` was given."""
    split: str
    """The split that the task belongs to."""
    group_id: str
    """Episodes of one task that share a baseline; by task, never by prompt text."""
    outcome: Outcome
    """How it ended."""
    score: float | None
    """The environment's own measure of the result; None when unresolved or unscored."""
    success: bool | None
    """Whether the task was solved; None when unresolved or undefined."""
    segments: tuple[Segment, ...]
    """In the order in which they were lived. Empty only when nothing was sampled."""
    sampling: SamplingRecord
    """Temperature, limits and seed."""
    renderer_id: str
    """Which renderer made the ids."""
    seat: int = 0
    """Which player, in environments with several."""
    reason: str = ""
    """For failed and unresolved: what happened."""
    protocol_version: int = PROTOCOL_VERSION
    """Version of this format."""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    """Free text for people; nothing reads it."""

    def __post_init__(self) -> None:
        if self.protocol_version != PROTOCOL_VERSION:
            raise ProtocolError(
                f"protocol version {self.protocol_version}; this library speaks {PROTOCOL_VERSION}"
            )
        if self.outcome not in get_args(Outcome):
            raise ProtocolError(f"outcome {self.outcome!r}; known are {', '.join(get_args(Outcome))}")
        if self.outcome == "unresolved" and (self.score is not None or self.success is not None):
            raise ProtocolError("an unresolved episode has a score; infrastructure failures are never scored")
        if self.score is not None and not math.isfinite(self.score):
            raise ProtocolError(f"score {self.score} is not finite")
        if self.outcome in COMPLETED and not self.segments:
            raise ProtocolError(f"a {self.outcome} episode has no segments")
        for index, segment in enumerate(self.segments):
            if segment.parent is not None and not 0 <= segment.parent < index:
                raise ProtocolError(f"segment {index} has parent {segment.parent}; a parent comes earlier")

    @property
    def reward(self) -> float | None:
        """Sum of the turns' rewards over all segments; None when no turn was scored or it is unresolved."""
        scored = [r for segment in self.segments for r in segment.rewards if r is not None]
        return math.fsum(scored) if scored and self.outcome != "unresolved" else None

    @property
    def num_action_tokens(self) -> int:
        """Tokens that the policy sampled in all segments."""
        return sum(segment.num_action_tokens for segment in self.segments)

    @property
    def num_turns(self) -> int:
        """Turns that the policy took in all segments."""
        return sum(len(segment.action_ranges) for segment in self.segments)


def _check_ranges(ranges: tuple[tuple[int, int], ...], num_tokens: int, what: str = "action range") -> None:
    previous_end = 1 if what == "action range" else 0
    for start, end in ranges:
        if not (previous_end <= start < end <= num_tokens):
            raise ProtocolError(
                f"{what} [{start}, {end}) is empty, out of order or outside tokens "
                f"[{previous_end}, {num_tokens}); token 0 is never an action"
            )
        previous_end = end
