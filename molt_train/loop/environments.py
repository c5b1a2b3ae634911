"""Where a run's environments live: in a thread of this process, or in worker processes.

In: the configuration and the actor. Out: an `EnvSource`; leaving the block ends the workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from molt_envs import TokenEnv
from molt_envs.workers import START_TIMEOUT_S, WorkerPool
from molt_train.config import Config
from molt_train.loop.actor import Actor


@dataclass(frozen=True)
class EnvSource:
    """Environments over tokens, as the runner takes them."""

    make_env: Callable[[], TokenEnv]
    """Builds one."""
    num_threads: int
    """Threads that may call them at once."""
    timeout_s: float
    """Bound of one call, as the runner sees it."""


@contextmanager
def open_environments(config: Config, actor: Actor, num_slots: int) -> Generator[EnvSource]:
    """Bounded environments in a thread, unless `rollout.num_env_workers` asks for processes; others always in
    processes."""
    timeout_s, num_workers = config.rollout.timeout_s, config.rollout.num_env_workers
    if actor.card.bounded and num_workers == 0:
        yield EnvSource(actor.make_env, 1, timeout_s)
        return
    num_workers = min(num_workers or os.cpu_count() or 1, num_slots)
    envs_per_worker = -(-num_slots // num_workers)
    env, kwargs = config.env.id, config.env.kwargs
    with WorkerPool(env, kwargs, actor.card, num_workers, envs_per_worker, timeout_s) as pool:
        # The worker's own time-out comes first: it kills what hangs, and says which call it was.
        yield EnvSource(lambda: actor.wrap(pool.make_env()), num_slots, 2 * timeout_s + START_TIMEOUT_S)
