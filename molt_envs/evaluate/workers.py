"""Threads that play: each with its own environments, none waited for longer than an episode may take.

In: jobs and what plays one. Out: each job with its record, in the order in which they end.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress

import gymnasium

from molt_envs.env import AgentEnv
from molt_envs.errors import InfrastructureError, boundary
from molt_envs.evaluate.player import Job
from molt_envs.evaluate.record import EpisodeRecord
from molt_envs.workers import WorkerPool

CLOSE_TIMEOUT_S = 10.0
_MAKING = threading.Lock()
Play = Callable[["gymnasium.Env[str, str]", Job], EpisodeRecord]


def play_all(
    jobs: Sequence[Job], play: Play, num_workers: int, timeout_s: float
) -> Iterator[tuple[Job, EpisodeRecord | str]]:
    """Each job with its record, or with the reason why it has none, in the order in which they end.

    Args:
        jobs: taken in order.
        play: plays one in an environment; called in the workers' threads.
        num_workers: most episodes at once.
        timeout_s: longest time of one episode, the making of its environment included.
    """
    waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
    results: queue.SimpleQueue[_Result] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    workers = [_Worker(waiting, play, results, timeout_s) for _ in range(min(num_workers, len(jobs)))]
    num_left = len(jobs)
    try:
        while num_left:
            for place, worker in enumerate(workers):
                job = worker.give_up(timeout_s)
                if job is not None:
                    workers[place] = _Worker(waiting, play, results, timeout_s)
                    num_left -= 1
                    yield job, f"{InfrastructureError.__name__}: it did not end within {timeout_s:g} s"
            try:
                job, record = results.get(timeout=min(timeout_s / 4, 0.5))
            except queue.Empty:
                continue
            num_left -= 1
            yield job, record
    finally:
        with suppress(queue.Empty):  # a worker may take the last one first
            while True:
                waiting.get_nowait()
        for _ in workers:
            waiting.put(None)
        until_s = time.monotonic() + CLOSE_TIMEOUT_S
        for worker in workers:
            worker.join(max(0.0, until_s - time.monotonic()))


class Environments:
    """One environment of each id, made when first asked for; use it in a `with` block, in one thread.

    Those that are not `bounded` run in a worker process each.

    Args:
        timeout_s: bound of one call of an environment in a worker process.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._made: dict[str, gymnasium.Env[str, str]] = {}
        self._resources = ExitStack()

    def get(self, env_id: str) -> gymnasium.Env[str, str]:
        """The environment of that id."""
        if env_id not in self._made:
            self._made[env_id] = self._make(env_id)
        return self._made[env_id]

    def _make(self, env_id: str) -> gymnasium.Env[str, str]:
        with _MAKING:  # whether its library bears threads is known only when it is made
            env: gymnasium.Env[str, str] = gymnasium.make(env_id, disable_env_checker=True)
        base = env.unwrapped
        if isinstance(base, AgentEnv) and not base.card.bounded:
            env.close()
            pool = WorkerPool(env_id, {}, base.card, timeout_s=self._timeout_s)
            env = self._resources.enter_context(pool).make_env()
        self._resources.callback(_close, env)
        return env

    def __enter__(self) -> Environments:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()


def _close(env: gymnasium.Env[str, str]) -> None:
    with boundary():  # one that cannot be closed must not keep the others open
        env.close()


_Result = tuple[Job, "EpisodeRecord | str"]


class _Worker(threading.Thread):
    """Plays one job after the other. A daemon: what hangs in an environment must not hold the process."""

    def __init__(
        self,
        jobs: queue.SimpleQueue[Job | None],
        play: Play,
        results: queue.SimpleQueue[_Result],
        timeout_s: float,
    ) -> None:
        super().__init__(daemon=True, name="evaluation")
        self._jobs, self._play, self._results, self._timeout_s = jobs, play, results, timeout_s
        self._lock = threading.Lock()
        self._job: Job | None = None
        self._started_s = 0.0
        self._given_up = False
        self.start()

    def run(self) -> None:
        """See `threading.Thread.run`."""
        with Environments(self._timeout_s) as environments:
            while (job := self._jobs.get()) is not None:
                with self._lock:
                    self._job, self._started_s = job, time.monotonic()
                record: EpisodeRecord | str = ""
                with boundary() as result:
                    record = self._play(environments.get(job.env_id), job)
                if result.failure is not None:
                    record = result.failure.reason
                with self._lock:
                    if self._given_up:
                        return
                    self._job = None
                    self._results.put((job, record))

    def give_up(self, timeout_s: float) -> Job | None:
        """The job that runs for longer than `timeout_s`: its result will not be given, nor any later one."""
        with self._lock:
            if self._job is None or time.monotonic() - self._started_s <= timeout_s:
                return None
            self._given_up = True
            return self._job
