"""An evaluation in numbers, one set for each environment.

In: episode records and prices. Out: `EnvSummary`s. Unresolved episodes are counted apart and never scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from molt_envs.evaluate.record import EpisodeRecord
from molt_envs.evaluate.statistics import Estimate, mean, pass_at_k, wilson


@dataclass(frozen=True)
class Prices:
    """What a model costs, in any currency, for a million tokens."""

    prompt: float = 0.0
    """For tokens read."""
    completion: float = 0.0
    """For tokens written."""

    def cost(self, num_prompt_tokens: int, num_completion_tokens: int) -> float:
        """The price of so many tokens."""
        return (num_prompt_tokens * self.prompt + num_completion_tokens * self.completion) / 1e6


@dataclass(frozen=True)
class EnvSummary:
    """One environment's results."""

    env_id: str
    """Which."""
    num_tasks: int
    """Tasks with a resolved episode."""
    outcomes: Mapping[str, int]
    """Episodes of each outcome."""
    passes: Mapping[int, Estimate]
    """Estimated share of tasks solved by at least one of k samples, by k, over the tasks that have k."""
    score: Estimate | None
    """Mean over tasks of the mean score; None when nothing was resolved."""
    reward: Estimate | None
    """Mean over tasks of the mean sum of rewards."""
    num_turns: float
    """Mean number of turns of a resolved episode."""
    num_prompt_tokens: int
    """Tokens read, in all episodes."""
    num_completion_tokens: int
    """Tokens written, in all episodes."""
    cost: float
    """Of these tokens."""
    reason: str
    """Why the first unresolved episode is unresolved; empty when there is none."""

    @property
    def num_episodes(self) -> int:
        """All episodes."""
        return sum(self.outcomes.values())

    @property
    def num_unresolved(self) -> int:
        """Episodes that say nothing about the policy."""
        return self.outcomes.get("unresolved", 0)


def summarise(records: Sequence[EpisodeRecord], prices: Prices) -> list[EnvSummary]:
    """One summary for each environment, in order of id."""
    ordered = sorted(records, key=lambda record: record.env_id)
    return [
        _summary(env_id, list(group), prices)
        for env_id, group in groupby(ordered, key=lambda record: record.env_id)
    ]


def _summary(env_id: str, records: list[EpisodeRecord], prices: Prices) -> EnvSummary:
    outcomes: dict[str, int] = {}
    tasks: dict[str, list[EpisodeRecord]] = {}
    for record in records:
        outcomes[record.outcome] = outcomes.get(record.outcome, 0) + 1
        if record.outcome != "unresolved":
            tasks.setdefault(record.task_id, []).append(record)
    resolved = [record for task in tasks.values() for record in task]
    num_prompt = sum(record.num_prompt_tokens for record in records)
    num_completion = sum(record.num_completion_tokens for record in records)
    return EnvSummary(
        env_id=env_id,
        num_tasks=len(tasks),
        outcomes=outcomes,
        passes={k: _passes(list(tasks.values()), k) for k in _ks(list(tasks.values()))},
        score=_mean_over_tasks([[record.score or 0.0 for record in task] for task in tasks.values()]),
        reward=_mean_over_tasks([[record.reward for record in task] for task in tasks.values()]),
        num_turns=fmean(len(record.turns) for record in resolved) if resolved else 0.0,
        num_prompt_tokens=num_prompt,
        num_completion_tokens=num_completion,
        cost=prices.cost(num_prompt, num_completion),
        reason=next((record.reason for record in records if record.outcome == "unresolved"), ""),
    )


def _ks(tasks: Sequence[Sequence[EpisodeRecord]]) -> list[int]:
    """1, the powers of two, and the most samples that a task has."""
    most = max(map(len, tasks), default=0)
    return sorted({2**power for power in range(most.bit_length())} | ({most} if most else set()))


def _passes(tasks: Sequence[Sequence[EpisodeRecord]], k: int) -> Estimate:
    counts = [(len(task), sum(record.success is True for record in task)) for task in tasks if len(task) >= k]
    return wilson(
        sum(pass_at_k(num_samples, num_solved, k) for num_samples, num_solved in counts), len(counts)
    )


def _mean_over_tasks(values: Sequence[Sequence[float]]) -> Estimate | None:
    return mean([fmean(task) for task in values]) if values else None
