"""Numbers about a batch of episodes, for the metrics.

In: graded episodes. Out: values by metric name. Unresolved episodes are counted and enter no mean.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from molt_envs import Episode
from molt_train.loop.evaluate import Evaluation
from molt_train.metrics import OUTCOMES
from molt_train.monitor.jsonl import Scalar
from molt_train.rewards import Graded


def rollout_metrics(graded: Sequence[Graded], trained_version: int) -> dict[str, float]:
    """What was sampled in one step.

    Args:
        graded: the step's episodes.
        trained_version: version of the weights about to be trained, against which staleness is counted.
    """
    counts = Counter(str(item.episode.outcome) for item in graded)
    resolved = [item.episode for item in graded if item.episode.outcome != "unresolved"]
    rewards = [item.reward for item in graded if item.reward is not None]
    versions = [
        segment.policy_versions[segment.action_mask] for episode in resolved for segment in episode.segments
    ]
    sampled = np.concatenate(versions) if versions else np.zeros(0, dtype=np.int32)
    values: dict[str, float] = {
        "num_episodes": len(graded),
        "num_action_tokens": sum(item.episode.num_action_tokens for item in graded),
        "zero_advantage_group_share": _flat_group_share(graded),
        **{f"num_{name}": counts[name] for name in OUTCOMES},
    }
    if rewards:
        values["reward_mean"] = math.fsum(rewards) / len(rewards)
        values["reward_std"] = float(np.std(rewards))
    if resolved:
        values["success_rate"] = sum(bool(episode.success) for episode in resolved) / len(resolved)
        values["score_mean"] = math.fsum(episode.score or 0.0 for episode in resolved) / len(resolved)
        values["turns_mean"] = sum(episode.num_turns for episode in resolved) / len(resolved)
        tokens = sum(len(segment.token_ids) for episode in resolved for segment in episode.segments)
        values["episode_tokens_mean"] = tokens / len(resolved)
        values["action_tokens_mean"] = sum(episode.num_action_tokens for episode in resolved) / len(resolved)
    if sampled.size:
        values["policy_version"] = int(sampled.max())
        values["staleness"] = float(np.mean(trained_version - sampled))
        values["staleness_max"] = int(trained_version - sampled.min())
    return values


def check_staleness(graded: Sequence[Graded], trained_version: int, bound: int) -> None:
    """No token of a batch is of a later version than the learner's, or more than `bound` updates older."""
    for item in graded:
        for segment in item.episode.segments:
            ages = trained_version - segment.policy_versions[segment.action_mask]
            assert not ages.size or 0 <= ages.min() <= ages.max() <= bound, (
                f"episode {item.episode.episode_id} has tokens {ages.min()} to {ages.max()} updates old; "
                f"they must be 0 to {bound}"
            )


def group_rows(graded: Sequence[Graded]) -> list[dict[str, Scalar]]:
    """A batch's groups, one row each: which task, how its episodes ended, what they were worth."""
    groups: defaultdict[str, list[Graded]] = defaultdict(list)
    for item in graded:
        groups[item.episode.group_id].append(item)
    return [
        {
            "group_id": name,
            "task_id": members[0].episode.task_id,
            "num_episodes": len(members),
            "num_unresolved": sum(item.episode.outcome == "unresolved" for item in members),
            "num_action_tokens": sum(item.episode.num_action_tokens for item in members),
            "reward_sum": math.fsum(item.reward for item in members if item.reward is not None),
        }
        for name, members in groups.items()
    ]


def _flat_group_share(graded: Sequence[Graded]) -> float:
    """Share of the scored groups whose rewards are all equal."""
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for item in graded:
        if item.reward is not None:
            groups[item.episode.group_id].append(item.reward)
    return sum(len(set(rewards)) == 1 for rewards in groups.values()) / len(groups) if groups else 0.0


def evaluation_metrics(result: Evaluation, episodes: Sequence[Episode]) -> dict[str, float]:
    """An evaluation's values by metric name."""
    resolved = [episode for episode in episodes if episode.outcome != "unresolved"]
    rewards = [episode.reward for episode in resolved if episode.reward is not None]
    values: dict[str, float] = {
        "eval_num_episodes": result.num_episodes,
        "eval_num_success": sum(bool(episode.success) for episode in resolved),
        "eval_num_resolved": result.num_resolved,
        **{f"eval_num_{name}": result.outcomes.get(name, 0) for name in OUTCOMES},
    }
    if resolved:
        values["eval_success_rate"] = result.success_rate
        values["eval_success_low"], values["eval_success_high"] = result.success_interval
        values["eval_score_mean"] = result.score_mean
        values["eval_turns_mean"] = result.turns_mean
        values["eval_action_tokens_mean"] = sum(e.num_action_tokens for e in resolved) / len(resolved)
    if rewards:
        values["eval_reward_mean"] = math.fsum(rewards) / len(rewards)
    return values
