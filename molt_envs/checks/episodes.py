"""Checks of finished episodes: what one segment cannot know of the others, and the wire.

In: an `Episode`. Out: `Findings`.
"""

from __future__ import annotations

from molt_envs.checks.findings import Findings, require
from molt_envs.protocol.episode import COMPLETED, Episode
from molt_envs.protocol.wire import (
    episode_from_json,
    episode_from_msgpack,
    episode_to_json,
    episode_to_msgpack,
)


def check_episode(episode: Episode, vocab_size: int | None = None) -> Findings:
    """Check an episode; a segment's own invariants hold already, since it could be built.

    Args:
        episode: the episode.
        vocab_size: the renderer's; token ids must be below it. None skips that check.
    """
    findings = Findings()
    findings.run("only the last segment ends the episode", lambda: _check_stop_reasons(episode))
    findings.run("a resolved episode's outcome is its last stop reason", lambda: _check_outcome(episode))
    findings.run("a failed or unresolved episode says why", lambda: _check_reason(episode))
    findings.run("msgpack round trip is exact", lambda: _check_msgpack(episode))
    findings.run("JSON round trip is exact", lambda: _check_json(episode))
    if vocab_size is not None:
        findings.run("token ids are in the vocabulary", lambda: _check_vocabulary(episode, vocab_size))
    return findings


def _check_stop_reasons(episode: Episode) -> None:
    if any(segment.parent is not None for segment in episode.segments):
        return  # branches of a tree end on their own
    for index, segment in enumerate(episode.segments[:-1]):
        require(
            segment.stop_reason == "rewritten",
            f"segment {index} of {len(episode.segments)} ends with {segment.stop_reason!r}, not 'rewritten'",
        )


def _check_outcome(episode: Episode) -> None:
    if episode.outcome in COMPLETED:
        last = episode.segments[-1].stop_reason
        # A context that is full when a new segment would begin leaves the closed one as the last.
        allowed = {episode.outcome} | ({"rewritten"} if episode.outcome == "length" else set[str]())
        require(last in allowed, f"outcome {episode.outcome!r}, but the last segment ends with {last!r}")


def _check_reason(episode: Episode) -> None:
    if episode.outcome not in COMPLETED:
        require(bool(episode.reason), f"outcome {episode.outcome!r} with an empty reason")


def _check_msgpack(episode: Episode) -> None:
    data = episode_to_msgpack(episode)
    require(episode_to_msgpack(episode_from_msgpack(data)) == data, "the bytes differ after a round trip")


def _check_json(episode: Episode) -> None:
    copy = episode_from_json(episode_to_json(episode))
    require(episode_to_msgpack(copy) == episode_to_msgpack(episode), "the episode differs after a round trip")


def _check_vocabulary(episode: Episode, vocab_size: int) -> None:
    for index, segment in enumerate(episode.segments):
        largest = int(segment.token_ids.max())
        require(
            largest < vocab_size,
            f"segment {index} has token id {largest}; the vocabulary ends at {vocab_size}",
        )
