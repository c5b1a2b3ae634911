"""One training step's episodes: groups of attempts at the same tasks, sampled concurrently and graded.

In: task ids and a step number. Out: graded episodes in a fixed order, whatever order they ended in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from molt_train.config import Config
from molt_train.data.tasks import derive_seed
from molt_train.rewards import Graded
from molt_train.rollout.episode import EpisodeRequest


def group_requests(config: Config, task_ids: Sequence[str], step: int) -> list[EpisodeRequest]:
    """`rollout.group_size` attempts at each task; every attempt has its own seed.

    A group is one task of one step: a task that comes twice in a step makes two groups.
    """
    requests: list[EpisodeRequest] = []
    for place, task_id in enumerate(task_ids):
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


def shuffle_rewards(graded: Sequence[Graded], seed: int, step: int) -> list[Graded]:
    """Control: the scored episodes' rewards, permuted among them, so that nothing can be learned from them."""
    scored = [index for index, item in enumerate(graded) if item.reward is not None]
    order = np.random.default_rng([seed, step]).permutation(len(scored))
    shuffled = list(graded)
    for index, source in zip(scored, order, strict=True):
        shuffled[index] = replace(graded[index], reward=graded[scored[source]].reward)
    return shuffled
