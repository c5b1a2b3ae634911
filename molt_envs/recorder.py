"""Builds an episode's segments while it is lived.

In: prompts, sampled ids, appended ids, rewards, in order. Out: `Segment`s. Nothing is encoded or decoded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from molt_envs.errors import ProtocolError
from molt_envs.protocol.episode import MAX_LOGPROB, NOT_SAMPLED, IntArray, Segment, StopReason


@dataclass
class _Open:
    """A segment that is still growing."""

    token_ids: list[int]
    logprobs: list[float]
    versions: list[int]
    ranges: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    rewards: list[float | None] = field(default_factory=list[float | None])
    state_keys: list[str | None] = field(default_factory=list[str | None])


class EpisodeRecorder:
    """Appends to the open segment; `segments()` hands over the closed ones."""

    def __init__(self) -> None:
        self._open: _Open | None = None
        self._closed: list[Segment] = []

    def open(self, prompt_ids: Sequence[int]) -> None:
        """Begin a segment with a prompt; the one before must be closed."""
        if self._open is not None:
            raise ProtocolError("a segment is still open; close it before the next prompt")
        count = len(prompt_ids)
        self._open = _Open(list(prompt_ids), [0.0] * count, [NOT_SAMPLED] * count)

    def action(
        self,
        token_ids: Sequence[int],
        logprobs: Sequence[float],
        policy_versions: Sequence[int],
        state_key: str | None = None,
    ) -> None:
        """Append one policy turn: ids, logprobs and versions as the engine reported them, of one length.

        Raises:
            ProtocolError: the turn is empty, lengths differ, or a logprob is missing; nothing was appended.
        """
        segment = self._require()
        if not len(token_ids) == len(logprobs) == len(policy_versions):
            raise ProtocolError(
                f"{len(token_ids)} sampled ids, {len(logprobs)} logprobs, "
                f"{len(policy_versions)} policy versions"
            )
        _check_sampled(token_ids, logprobs, policy_versions)
        start = len(segment.token_ids)
        if start == 0:
            raise ProtocolError("an action before any prompt token; token 0 is never an action")
        segment.token_ids += token_ids
        segment.logprobs += logprobs
        segment.versions += policy_versions
        segment.ranges.append((start, start + len(token_ids)))
        segment.rewards.append(None)
        segment.state_keys.append(state_key)

    def reward(self, value: float | None) -> None:
        """Set the reward of the last turn."""
        segment = self._require()
        if not segment.rewards:
            raise ProtocolError("a reward before the first action of the segment")
        if value is not None and not math.isfinite(value):
            raise ProtocolError(f"reward {value} is not finite; an unscored turn is None")
        segment.rewards[-1] = value

    def settle(self) -> None:
        """Score the last turn 0 if nothing else did: what the policy itself broke earned nothing."""
        if self._open is not None and self._open.rewards and self._open.rewards[-1] is None:
            self._open.rewards[-1] = 0.0

    def append(self, token_ids: Sequence[int]) -> None:
        """Append ids that the policy did not sample: turn ends, observations, the next turn's opening."""
        segment = self._require()
        segment.token_ids += token_ids
        segment.logprobs += [0.0] * len(token_ids)
        segment.versions += [NOT_SAMPLED] * len(token_ids)

    def close(self, stop_reason: StopReason, bootstrap_ids: Sequence[int] | None = None) -> None:
        """End the open segment, if there is one; a segment without actions is dropped."""
        segment, self._open = self._open, None
        if segment is None or not segment.ranges:
            return
        keys = tuple(segment.state_keys)
        mask = np.zeros(len(segment.token_ids), dtype=np.bool_)
        for start, end in segment.ranges:
            mask[start:end] = True
        self._closed.append(
            Segment(
                token_ids=_int32(segment.token_ids),
                action_ranges=tuple(segment.ranges),
                logprobs=np.asarray(segment.logprobs, dtype=np.float32),
                policy_versions=_int32(segment.versions),
                rewards=tuple(segment.rewards),
                loss_mask=mask,
                stop_reason=stop_reason,
                state_keys=keys if any(key is not None for key in keys) else (),
                bootstrap_ids=None if bootstrap_ids is None else _int32(bootstrap_ids),
            )
        )

    def segments(self) -> tuple[Segment, ...]:
        """The closed segments in order."""
        return tuple(self._closed)

    def _require(self) -> _Open:
        if self._open is None:
            raise ProtocolError("no segment is open; call open() with the prompt first")
        return self._open


def _check_sampled(token_ids: Sequence[int], logprobs: Sequence[float], versions: Sequence[int]) -> None:
    """Refuse at once what would break the segment when it is closed; by then the whole segment is lost."""
    if len(token_ids) == 0:
        raise ProtocolError("the policy sampled no token; a turn has at least its stop id")
    if min(token_ids) < 0 or min(versions) < 0:
        raise ProtocolError(f"token id {min(token_ids)}, policy version {min(versions)}: both are at least 0")
    for index, logprob in enumerate(logprobs):
        if logprob is None or not math.isfinite(logprob):  # pyright: ignore[reportUnnecessaryComparison]
            raise ProtocolError(f"sampled token {index} has logprob {logprob}; a missing one is never 0")
        if logprob > MAX_LOGPROB:
            raise ProtocolError(f"sampled token {index} has logprob {logprob}; a logprob is at most 0")


def _int32(values: Sequence[int]) -> IntArray:
    return np.asarray(values, dtype=np.int32)
