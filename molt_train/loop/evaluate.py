"""How good a policy is on a fixed list of tasks.

In: a rollout runner and task ids. Out: an `Evaluation` with intervals; the same for the same seed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from molt_envs import Episode
from molt_train.data.tasks import derive_seed
from molt_train.rollout.engine import Sampling
from molt_train.rollout.episode import EpisodeRequest
from molt_train.rollout.runner import OnEpisode, RolloutRunner


@dataclass(frozen=True)
class Evaluation:
    """Results over the episodes that were resolved; the others are counted beside them."""

    num_episodes: int
    """Episodes asked for."""
    num_resolved: int
    """Episodes that count."""
    success_rate: float
    """Share of resolved episodes that solved their task; nan when none was resolved."""
    success_interval: tuple[float, float]
    """95 % Wilson interval of `success_rate`."""
    score_mean: float
    """Mean score of resolved episodes; nan when none was resolved."""
    turns_mean: float
    """Mean number of turns."""
    outcomes: Mapping[str, int]
    """Episodes by outcome."""


async def evaluate(
    runner: RolloutRunner,
    env_id: str,
    task_ids: Sequence[str],
    sampling: Sampling,
    seed: int,
    on_episode: OnEpisode | None = None,
) -> tuple[Evaluation, list[Episode]]:
    """Play each task once."""
    requests = [
        EpisodeRequest(
            episode_id=f"eval/{task_id}",
            env_id=env_id,
            task_id=task_id,
            group_id=task_id,
            seed=derive_seed(seed, "eval", task_id),
        )
        for task_id in task_ids
    ]
    episodes = await runner.run(requests, sampling, on_episode)
    return summarise(episodes), episodes


def summarise(episodes: Sequence[Episode]) -> Evaluation:
    """The evaluation of episodes that have been played."""
    resolved = [episode for episode in episodes if episode.outcome != "unresolved"]
    num_solved = sum(1 for episode in resolved if episode.success)
    count = len(resolved)
    scores = [episode.score for episode in resolved if episode.score is not None]
    return Evaluation(
        num_episodes=len(episodes),
        num_resolved=count,
        success_rate=num_solved / count if count else math.nan,
        success_interval=wilson_interval(num_solved, count),
        score_mean=math.fsum(scores) / len(scores) if scores else math.nan,
        turns_mean=sum(episode.num_turns for episode in resolved) / count if count else math.nan,
        outcomes=dict(Counter(str(episode.outcome) for episode in episodes)),
    )


def wilson_interval(num_successes: int, count: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927); (0, 1) when nothing was counted."""
    if count == 0:
        return 0.0, 1.0
    share = num_successes / count
    centre = share + z * z / (2 * count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return (centre - half) / scale, (centre + half) / scale
