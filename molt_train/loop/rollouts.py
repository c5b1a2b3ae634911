"""One training step's episodes: groups of attempts at the same tasks, sampled concurrently and graded.

In: task ids and a step number. Out: graded episodes in a fixed order, whatever order they ended in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from molt_train.algorithms.shaping import keeps_group, overlong_penalty
from molt_train.config import Config
from molt_train.data.tasks import derive_seed
from molt_train.rewards import Graded
from molt_train.rollout.episode import EpisodeRequest


def group_requests(
    config: Config, task_ids: Sequence[str], step: int, first_place: int = 0
) -> list[EpisodeRequest]:
    """`rollout.group_size` attempts at each task; every attempt has its own seed.

    A group is one task at one place of a step: a task that comes twice in a step makes two groups.
    """
    requests: list[EpisodeRequest] = []
    for place, task_id in enumerate(task_ids, first_place):
        for attempt in range(config.rollout.group_size):
            requests.append(
                EpisodeRequest(
                    episode_id=f"{step}/{place}/{attempt}",
                    env_id=config.env.id,
                    task_id=task_id,
                    group_id=f"{step}/{place}",
                    seed=derive_seed(config.train.seed, "rollout", step, place, attempt),
                    order=len(requests),
                )
            )
    return requests


def penalise_length(graded: Sequence[Graded], config: Config) -> list[Graded]:
    """Take `algorithm.overlong_penalty` from the reward of episodes that come near the context's end."""
    algorithm, max_tokens = config.algorithm, config.rollout.max_context_tokens
    if algorithm.overlong_tokens is None:
        return list(graded)
    shaped: list[Graded] = []
    for item in graded:
        if item.reward is not None:
            longest = max((len(segment.token_ids) for segment in item.episode.segments), default=0)
            cost = overlong_penalty(
                longest, max_tokens, algorithm.overlong_tokens, algorithm.overlong_penalty
            )
            item = replace(item, reward=item.reward - cost)
        shaped.append(item)
    return shaped


def informative_groups(graded: Sequence[Graded], low: float, high: float) -> tuple[list[Graded], int]:
    """Dynamic sampling: episodes of groups whose mean score is strictly within the bounds; groups dropped."""
    groups: dict[str, list[Graded]] = {}
    for item in graded:
        groups.setdefault(item.episode.group_id, []).append(item)
    kept: list[Graded] = []
    num_dropped = 0
    for members in groups.values():
        scores = [item.episode.score for item in members if item.episode.score is not None]
        if keeps_group(scores, low, high):
            kept += members
        else:
            num_dropped += 1
    return kept, num_dropped


def shuffle_rewards(graded: Sequence[Graded], seed: int, step: int) -> list[Graded]:
    """Control: the scored episodes' rewards, permuted among them, so that nothing can be learned."""
    scored = [index for index, item in enumerate(graded) if item.reward is not None]
    order = np.random.default_rng([seed, step]).permutation(len(scored))
    shuffled = list(graded)
    for index, source in zip(scored, order, strict=True):
        shuffled[index] = replace(graded[index], reward=graded[scored[source]].reward)
    return shuffled
