"""Hand-made segments and episodes for the trainer's tests, and a seeded batch of random ones.

In: turns as (ids the policy sampled, ids that follow). Out: `Segment`s, `Episode`s and `Graded` episodes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from molt_envs import Episode, EpisodeRecorder, SamplingRecord, Segment
from molt_train.rewards import Graded
from tests.molt_train.rollout.tiny_models import VOCAB_SIZE

Turns = Sequence[tuple[list[int], list[int]]]


def make_segment(
    prompt: list[int], turns: Turns, logprob: float = -2.0, stop_reason: Any = "terminated"
) -> Segment:
    """A segment whose turns earn nothing but the last, which earns 1."""
    recorder = EpisodeRecorder()
    recorder.open(prompt)
    for place, (sampled, appended) in enumerate(turns):
        recorder.action(sampled, [logprob] * len(sampled), [0] * len(sampled))
        recorder.reward(float(place == len(turns) - 1))
        recorder.append(appended)
    recorder.close(stop_reason)
    return recorder.segments()[0]


def make_episode(segments: Sequence[Segment], group: str = "g", **changes: Any) -> Episode:
    """A terminated episode of these segments."""
    values: dict[str, Any] = {
        "episode_id": f"{group}/e",
        "env_id": "molt-tests/Toy-v0",
        "task_id": "train:0",
        "seed": 0,
        "split": "train",
        "group_id": group,
        "outcome": "terminated",
        "score": 1.0,
        "success": True,
        "segments": tuple(segments),
        "sampling": SamplingRecord(1.0, 64, 0),
        "renderer_id": "bytes-v1",
    }
    return Episode(**{**values, **changes})


def random_batch(seed: int = 0, num_groups: int = 3, group_size: int = 3) -> list[Graded]:
    """Graded episodes of one or two segments, of mixed lengths, in groups."""
    draw = random.Random(seed)

    def ids(least: int, most: int) -> list[int]:
        return [draw.randrange(VOCAB_SIZE) for _ in range(draw.randrange(least, most))]

    def segment() -> Segment:
        turns = [(ids(1, 6), ids(0, 6)) for _ in range(draw.randrange(1, 4))]
        return make_segment(ids(1, 8), turns, logprob=-draw.random() * 4)

    return [
        Graded(make_episode([segment() for _ in range(draw.randrange(1, 3))], f"g{group}"), draw.gauss(0, 1))
        for group in range(num_groups)
        for _ in range(group_size)
    ]
