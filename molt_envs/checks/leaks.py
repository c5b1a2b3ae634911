"""What one episode leaves for the next: state, memory; and how long a step takes.

In: a `Subject`. Out: bytes and milliseconds, or `CheckFailed`.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from molt_envs.checks.findings import require
from molt_envs.checks.subject import Check, Subject, first_difference, oracle_of, play
from molt_envs.env import AgentEnv, Task
from molt_envs.policy import Policy
from molt_envs.protocol.images import Observation

NUM_RESETS, NUM_RESETS_QUICK = 10_000, 400
QUICK_S = 5.0
NUM_STEPS = 3
MOST_BYTES_A_RESET = 100
SLACK_BYTES = 2**16
MOST_RSS_BYTES = 2**25
STATM = Path("/proc/self/statm")
PAGE_BYTES = 4096
MOST_STEP_S, MOST_BOUNDED_STEP_S, MOST_RESET_S = 0.05, 0.01, 0.5


def _check_state(subject: Subject) -> str:
    tasks = subject.tasks(4, num_plays=8)
    others = [*tasks[1:], tasks[0]]
    used, other_env = subject.make_base(), subject.make_base()
    for task, other in zip(tasks, others, strict=True):
        fresh = subject.make_base()
        expected = play(fresh, oracle_of(), task)
        fresh.close()
        for num_steps in (1, 3):
            play(used, oracle_of(), other, num_most=num_steps)
            found = first_difference(expected, play(used, oracle_of(), task))
            require(found is None, f"after {num_steps} turns of {other.task_id}, abandoned: {found}")
        beside = play(used, lambda env, t=other: _Interrupting(env, other_env, t), task)
        found = first_difference(expected, beside)
        require(found is None, f"while {other.task_id} runs in a second environment: {found}")
    used.close()
    other_env.close()
    return f"{len(tasks)} tasks"


class _Interrupting:
    """The oracle, letting another environment take a step before each of its own.

    Args:
        env: which it plays.
        other: the other one.
        task: of the other one.
    """

    def __init__(self, env: AgentEnv, other: AgentEnv, task: Task) -> None:
        self._policy = oracle_of()(env)
        self._other = other
        self._shown: tuple[Observation, Mapping[str, Any]] = other.reset(
            seed=0, options={"task_id": task.task_id}
        )
        self._others_policy: Policy | None = oracle_of()(other)

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The oracle's action, after the other environment's step."""
        if self._others_policy is not None:
            action = self._others_policy.act(*self._shown)
            shown, _, terminated, truncated, facts = self._other.step(action)
            self._shown = shown, facts
            if terminated or truncated:
                self._others_policy = None
        return self._policy.act(observation, info)


def _check_memory(subject: Subject) -> str:
    tasks = subject.tasks(20)
    env = subject.make_base()

    def run(num: int) -> None:
        for number in range(num):
            play(env, oracle_of(), tasks[number % len(tasks)], num_most=NUM_STEPS)
        gc.collect()

    start = time.perf_counter()
    run(NUM_RESETS_QUICK // 10)
    fit = QUICK_S / (time.perf_counter() - start) * NUM_RESETS_QUICK // 10
    num_resets = NUM_RESETS if subject.full else max(NUM_RESETS_QUICK // 10, min(NUM_RESETS_QUICK, int(fit)))
    run(num_resets // 2)
    rss_bytes = _rss_bytes()
    tracemalloc.start()
    try:
        run(num_resets // 4)
        before_bytes = tracemalloc.get_traced_memory()[0]
        run(num_resets // 4)
        grown_bytes = tracemalloc.get_traced_memory()[0] - before_bytes
    finally:
        tracemalloc.stop()
    run(num_resets // 4)
    env.close()
    num = num_resets // 4
    most_bytes = max(SLACK_BYTES, MOST_BYTES_A_RESET * num)
    text = f"{grown_bytes / num:+.0f} bytes a reset over {num:,} of {num_resets:,} resets"
    require(grown_bytes <= most_bytes, text)
    rss_bytes = _rss_bytes() - rss_bytes
    require(rss_bytes <= MOST_RSS_BYTES, f"the process grew by {rss_bytes / 2**20:.0f} MiB; {text}")
    return text


def _rss_bytes() -> int:
    """Resident memory, 0 where the system does not tell."""
    return int(STATM.read_text().split()[1]) * PAGE_BYTES if STATM.exists() else 0


def _check_latency(subject: Subject) -> str:
    env, resets_s, steps_s = subject.make_base(), list[float](), list[float]()
    for task in subject.tasks(16 if subject.full else 5):
        start = time.perf_counter()
        observation, info = env.reset(seed=0, options={"task_id": task.task_id})
        resets_s.append(time.perf_counter() - start)
        policy, over = oracle_of()(env), False
        while not over:
            action = policy.act(observation, info)
            start = time.perf_counter()
            observation, _, terminated, truncated, info = env.step(action)
            steps_s.append(time.perf_counter() - start)
            over = terminated or truncated
    env.close()
    step_s, reset_s = sorted(steps_s)[len(steps_s) // 2], sorted(resets_s)[len(resets_s) // 2]
    most_s = MOST_BOUNDED_STEP_S if subject.card.bounded else MOST_STEP_S
    longest_s = max(steps_s)
    text = f"step p50 {step_s * 1e3:.3g} ms, longest {longest_s * 1e3:.3g}; reset p50 {reset_s * 1e3:.3g} ms"
    require(step_s <= most_s, f"{text}; at most {most_s * 1e3:g} ms a step")
    require(reset_s <= MOST_RESET_S, f"{text}; at most {MOST_RESET_S * 1e3:g} ms a reset")
    return text


CHECKS = (
    Check(
        "leaks",
        "an episode leaves nothing for the next one or another environment",
        _check_state,
        "set every attribute in `_begin`, and keep nothing in the class or the module",
    ),
    Check(
        "leaks",
        "memory stays flat over resets",
        _check_memory,
        "drop what belongs to the episode before; give caches a bound",
    ),
    Check(
        "speed",
        "steps and resets are quick",
        _check_latency,
        "load data once per process, and move slow work out of `_act`",
    ),
)
