"""Plays recorded episodes back and says whether they come out the same.

In: `EpisodeRecord`s. Out: for each, None or where it first differs. No policy is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium

from molt_envs.evaluate.record import EpisodeRecord, TurnRecord
from molt_envs.protocol.images import describe

_NUM_CONTEXT_CHARS = 40


@dataclass(frozen=True)
class Difference:
    """Where a replay first leaves the record."""

    turn: int
    """0 is the reset, k the k-th action."""
    what: str
    """Which value: `observation`, `reward`, `terminated`, `truncated`, `score`, `success`."""
    recorded: object
    """As it was."""
    replayed: object
    """As it is now."""

    def __str__(self) -> str:
        where = "after the reset" if self.turn == 0 else f"after action {self.turn}"
        recorded, replayed = self.recorded, self.replayed
        if isinstance(recorded, str) and isinstance(replayed, str):
            pairs = enumerate(zip(recorded, replayed, strict=False))
            place = next((at for at, (one, two) in pairs if one != two), min(len(recorded), len(replayed)))
            start = max(0, place - _NUM_CONTEXT_CHARS)
            where += f", from character {place}"
            recorded = recorded[start : place + _NUM_CONTEXT_CHARS]
            replayed = replayed[start : place + _NUM_CONTEXT_CHARS]
        return f"{self.what} {where}: recorded {recorded!r}, now {replayed!r}"


def replay(env: gymnasium.Env[str, str], record: EpisodeRecord) -> Difference | None:
    """Play the record's actions from its seed; gives the first difference, or None.

    Raises:
        TaskError: the environment no longer has the task.
        EpisodeDone: the record goes on after its own end.
    """
    observation, _ = env.reset(seed=record.seed, options={"task_id": record.task_id})
    if describe(observation) != record.observation:
        return Difference(0, "observation", record.observation, describe(observation))
    for number, turn in enumerate(record.turns, 1):
        if turn.observation is None:  # a message that was cut; the environment never saw it
            break
        observation, reward, terminated, truncated, info = env.step(turn.action)
        now = TurnRecord(
            turn.message,
            turn.action,
            describe(observation),
            float(reward),
            bool(terminated),
            bool(truncated),
            float(info.get("score", 0.0)),
            bool(info.get("success", False)),
        )
        difference = _compare(number, turn, now)
        if difference is not None:
            return difference
    return None


def _compare(number: int, then: TurnRecord, now: TurnRecord) -> Difference | None:
    pairs: tuple[tuple[str, object, object], ...] = (
        ("observation", then.observation, now.observation),
        ("reward", then.reward, now.reward),
        ("terminated", then.terminated, now.terminated),
        ("truncated", then.truncated, now.truncated),
        ("score", then.score, now.score),
        ("success", then.success, now.success),
    )
    return next((Difference(number, *pair) for pair in pairs if pair[1] != pair[2]), None)
