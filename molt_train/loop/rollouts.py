"""Groups of attempts at the same task: which episodes they are, and what becomes of their rewards.

In: a group's index and task; graded episodes. Out: requests; the episodes with other rewards, or whether to
keep them.
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


def group_requests(config: Config, index: int, task_id: str) -> list[EpisodeRequest]:
    """`rollout.group_size` attempts at one task; every attempt has its own seed.

    Names and seeds come from the group's index in the run, written as the step and the place in it where
    every step admits one batch: they depend on nothing that timing could change.
    """
    step, place = divmod(index, config.rollout.num_tasks)
    return [
        EpisodeRequest(
            episode_id=f"{step}/{place}/{attempt}",
            env_id=config.env.id,
            task_id=task_id,
            group_id=f"{step}/{place}",
            seed=derive_seed(config.train.seed, "rollout", step, place, attempt),
        )
        for attempt in range(config.rollout.group_size)
    ]


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


def is_informative(members: Sequence[Graded], low: float, high: float) -> bool:
    """Dynamic sampling keeps the group: the mean of its scores is strictly within the bounds."""
    scores = [item.episode.score for item in members if item.episode.score is not None]
    return keeps_group(scores, low, high)


def shuffle_rewards(graded: Sequence[Graded], seed: int, step: int) -> list[Graded]:
    """Control: the scored episodes' rewards, permuted among them, so that nothing can be learned."""
    scored = [index for index, item in enumerate(graded) if item.reward is not None]
    order = np.random.default_rng([seed, step]).permutation(len(scored))
    shuffled = list(graded)
    for index, source in zip(scored, order, strict=True):
        shuffled[index] = replace(graded[index], reward=graded[scored[source]].reward)
    return shuffled
