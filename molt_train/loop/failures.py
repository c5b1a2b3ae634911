"""When too much goes wrong: a batch's outcomes by environment, with reasons.

In: a batch's episodes. Out: nothing, or the error that stops the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from molt_envs import Episode

_NUM_REASONS = 5


class TooManyUnresolved(ValueError):
    """The environment, the grader or the engine fails too often for training to mean anything."""


def check_resolved(episodes: Sequence[Episode], max_share: float) -> None:
    """Raises `TooManyUnresolved`, with the table, where more than this share is unresolved."""
    num_unresolved = sum(episode.outcome == "unresolved" for episode in episodes)
    if num_unresolved > max_share * len(episodes):
        raise TooManyUnresolved(
            f"{num_unresolved} of {len(episodes)} episodes are unresolved, more than "
            f"rollout.max_unresolved_share = {max_share} allows; mend the cause and go on with "
            f"run.resume=true\n{outcome_table(episodes)}"
        )


def outcome_table(episodes: Sequence[Episode]) -> str:
    """Lines of how often each environment's episodes ended how, and the commonest reasons."""
    lines: list[str] = []
    for env_id in sorted({episode.env_id for episode in episodes}):
        own = [episode for episode in episodes if episode.env_id == env_id]
        counts = Counter(str(episode.outcome) for episode in own)
        lines.append(f"{env_id}: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
        reasons = Counter(f"{episode.outcome}: {episode.reason}" for episode in own if episode.reason)
        lines += [f"  {count} × {reason}" for reason, count in reasons.most_common(_NUM_REASONS)]
    return "\n".join(lines)
