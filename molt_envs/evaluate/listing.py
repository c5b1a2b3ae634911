"""What there is: installed environments with their facts, found by words, with measured latency.

In: registered entries. Out: `Listed` rows; an environment that cannot be made is a row that says why.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import gymnasium

from molt_envs.catalog import EnvEntry
from molt_envs.env import AgentEnv
from molt_envs.errors import boundary

MEASURE_S = 0.5
"""Longest time that measuring one environment takes, but for its last episode."""


@dataclass(frozen=True)
class Latency:
    """How long calls take, in the median, under the random baseline."""

    reset_ms: float
    """One reset."""
    step_ms: float
    """One step."""
    num_steps: int
    """Steps measured."""


@dataclass(frozen=True)
class Listed:
    """One environment."""

    entry: EnvEntry
    """Its registration."""
    splits: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of tasks by split."""
    licence: str = ""
    """Licence of code and data."""
    reward_range: tuple[float, float] | None = None
    """Least and greatest reward of a step; None where no card says so."""
    max_turns: int = 0
    """Steps after which an episode is truncated."""
    latency: Latency | None = None
    """Only where it was asked for."""
    text: str = ""
    """What the policy is told, and the tools: for searching."""
    problem: str = ""
    """Why the environment cannot be made."""


def listed(entry: EnvEntry, measure: bool = False) -> Listed:
    """Make the environment and look at its card; `measure` plays episodes for about half a second."""
    row = Listed(entry)
    with boundary() as result:
        env: gymnasium.Env[str, str] = gymnasium.make(entry.env_id, disable_env_checker=True)
        try:
            row = _row(entry, env, measure)
        finally:
            env.close()
    return row if result.failure is None else Listed(entry, problem=result.failure.reason)


def search(rows: Sequence[Listed], words: Sequence[str]) -> list[Listed]:
    """The rows that have every word, the best first: an id counts most, then the summary, then the rest."""
    scored = [(_score(row, [word.casefold() for word in words]), row) for row in rows]
    found = [pair for pair in scored if pair[0] > 0]
    return [row for _, row in sorted(found, key=lambda pair: (-pair[0], pair[1].entry.env_id))]


def measure_latency(env: gymnasium.Env[str, str], base: AgentEnv) -> Latency:
    """Play the random baseline on tasks as seeds draw them; the first episode warms up and does not count."""
    resets: list[float] = []
    steps: list[float] = []
    until_s, seed = time.perf_counter() + MEASURE_S, 0
    while seed < 2 or time.perf_counter() < until_s:
        before_s = time.perf_counter()
        observation, info = env.reset(seed=seed)
        after_s = time.perf_counter()
        episode, policy, over = list[float](), base.baselines(seed)["random"], False
        while not over:
            action = policy.act(observation, info)
            begun_s = time.perf_counter()
            observation, _, terminated, truncated, info = env.step(action)
            episode.append(time.perf_counter() - begun_s)
            over = terminated or truncated
        if seed:
            resets.append(after_s - before_s)
            steps += episode
        seed += 1
    return Latency(1000 * median(resets), 1000 * median(steps), len(steps))


def _row(entry: EnvEntry, env: gymnasium.Env[str, str], measure: bool) -> Listed:
    base = env.unwrapped
    if not isinstance(base, AgentEnv):
        return Listed(entry)
    card = base.card
    return Listed(
        entry,
        dict(card.splits),
        card.licence,
        card.reward_range,
        card.max_turns,
        measure_latency(env, base) if measure else None,
        "\n".join([card.system_prompt, card.licence, *(json.dumps(dict(tool)) for tool in card.tools)]),
    )


def _score(row: Listed, words: Sequence[str]) -> int:
    places = ((4, row.entry.env_id), (2, f"{row.entry.summary} {row.entry.source}"), (1, row.text))
    scores = [sum(weight for weight, text in places if word in text.casefold()) for word in words]
    return sum(scores) if all(scores) else 0
