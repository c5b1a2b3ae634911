"""Synchronous and asynchronous vector environments show the same, in every autoreset mode.

In: a `Subject`. Out: `CheckFailed` where they differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from molt_envs.checks.findings import require
from molt_envs.checks.subject import Check, Subject, oracle_of, plain, play

NUM_ENVS = 2
MOST_STEPS = 30
SEED = 11


def _check_vectors(subject: Subject) -> str:
    num_ends, base = 0, subject.make_base()
    plans = [play(base, oracle_of(), seed=SEED + index).actions for index in range(NUM_ENVS)]
    base.close()
    for mode in AutoresetMode:
        makers = [subject.make] * NUM_ENVS
        shown = [
            _shown(subject, make(makers, autoreset_mode=mode), mode, plans)
            for make in (SyncVectorEnv, AsyncVectorEnv)
        ]
        for number, (one, two) in enumerate(zip(*shown, strict=True)):
            for part, mine, theirs in zip(("observations", "step", "info"), one, two, strict=True):
                text = (
                    f"{mode.value} mode, step {number}: {part} {str(mine)[:60]!r}, async {str(theirs)[:60]!r}"
                )
                require(mine == theirs, text)
        num_ends += sum(any(step[1][1]) or any(step[1][2]) for step in shown[0][1:])
    return f"{num_ends} ends of episodes seen"


def _shown(
    subject: Subject, envs: Any, mode: AutoresetMode, plans: list[tuple[str, ...]]
) -> list[tuple[Any, ...]]:
    """What vector environments give: first the oracle's actions, so that episodes end, then any."""
    try:
        observations, info = envs.reset(seed=SEED)
        seen: list[tuple[Any, ...]] = [(plain(observations), None, plain(info))]
        over = np.zeros(NUM_ENVS, dtype=bool)
        num_steps = max(map(len, plans)) + min(MOST_STEPS, subject.card.max_turns + 2)
        for number in range(num_steps):
            if mode is AutoresetMode.DISABLED and over.any():
                observations, info = envs.reset(seed=SEED, options={"reset_mask": over})
            actions = tuple(
                plan[number] if number < len(plan) else _action(subject, info, index, number)
                for index, plan in enumerate(plans)
            )
            observations, rewards, terminated, truncated, info = envs.step(actions)
            over = terminated | truncated
            step = (rewards.tolist(), terminated.tolist(), truncated.tolist())
            seen.append((plain(observations), step, plain(info)))
    finally:
        envs.close()
    return seen


def _action(subject: Subject, info: dict[str, Any], index: int, number: int) -> str:
    listed = info.get("admissible_actions")
    actions = (listed[index] if listed is not None else None) or (subject.card.grammar.example,)
    return actions[(7 * number + 3 + index) % len(actions)]


CHECKS = (
    Check(
        "vectors",
        "sync and async vector environments show the same",
        _check_vectors,
        "use UnicodeText for observations, and give info the same keys and types in every step",
    ),
)
