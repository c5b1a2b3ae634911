"""Episodes with every field in use, for the hub's tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from molt_envs import Episode, EpisodeRecorder, ImageSpan, SamplingRecord, Segment


def plain_segment() -> Segment:
    """Prompt 1 2 3, action 4 5, observation 6, action 7 8, closing 9."""
    recorder = EpisodeRecorder()
    recorder.open([1, 2, 3])
    recorder.action([4, 5], [-0.1, -0.3], [7, 7], "a")
    recorder.reward(0.25)
    recorder.append([6])
    recorder.action([7, 8], [-1e-7, -12.5], [7, 8], None)
    recorder.append([9])
    recorder.close("terminated")
    return recorder.segments()[0]


def full_segment() -> Segment:
    """The same with images, experts, a bootstrap observation."""
    return replace(
        plain_segment(),
        stop_reason="truncated",
        images=(ImageSpan(0, 2, np.arange(24, dtype=np.uint8).reshape(2, 4, 3)),),
        routed_experts=np.arange(-18, 36, dtype=np.int16).reshape(9, 2, 3),
        bootstrap_ids=np.array([5, 2**31 - 1], dtype=np.int32),
    )


def make_episode(**changes: Any) -> Episode:
    """An episode of two segments whose strings are hard to write down."""
    values: dict[str, Any] = {
        "episode_id": "run/1 é 日本 😀",
        "env_id": "molt/WebShop-v0",
        "task_id": "train:7",
        "seed": 2**63 + 5,
        "split": "train",
        "group_id": "g\0\x1f\n\u2028",
        "outcome": "truncated",
        "score": 0.1 + 0.2,
        "success": False,
        "segments": (replace(plain_segment(), stop_reason="rewritten"), replace(full_segment(), parent=0)),
        "sampling": SamplingRecord(0.6, 128, 3),
        "renderer_id": "bytes-v1",
        "seat": 1,
        "reason": "lone \ud83d, pair \ud83d\ude00",
        "metadata": {"\0key \udc00": "\0", "": "Ω"},
    }
    return Episode(**{**values, **changes})
