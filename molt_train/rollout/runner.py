"""Runs many episodes at once, a bounded number at a time, and gives them back in the order asked for.

In: requests. Out: episodes, one per request. Environments are called in threads, never on the event loop: one
thread serves all that run in this process, so that each is built, stepped and closed in one; those in worker
processes have a thread each, which waits for its worker.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from molt_envs import Episode, TokenEnv
from molt_envs.workers import WorkerEnv
from molt_train.rollout.engine import Engine, Sampling
from molt_train.rollout.episode import EpisodeRequest, call_in_thread, run_episode

OnEpisode = Callable[[Episode], None]


class RolloutRunner:
    """Holds the environments of one configuration; use it in a `with` block.

    Args:
        engine: samples the tokens.
        make_env: builds one environment over tokens; called in the environments' thread.
        num_slots: episodes that run at the same time.
        env_timeout_s: bound of one environment call.
        num_threads: for calls of environments; more than one only where they run in worker processes.
        num_retries: times that an unresolved episode is played again; `num_retried` counts them all.
    """

    def __init__(
        self,
        engine: Engine,
        make_env: Callable[[], TokenEnv],
        num_slots: int,
        env_timeout_s: float = 60.0,
        num_threads: int = 1,
        num_retries: int = 0,
    ) -> None:
        self.engine, self._make_env = engine, make_env
        self._num_slots, self._env_timeout_s = num_slots, env_timeout_s
        self._num_retries, self.num_retried = num_retries, 0
        self._executor = ThreadPoolExecutor(num_threads, thread_name_prefix="environments")
        self._idle: list[TokenEnv] = []

    def __enter__(self) -> RolloutRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        try:
            self._executor.submit(self._close_all).result(self._env_timeout_s)
        except TimeoutError:
            # An environment hangs in its thread: a warning, since the episodes that were played are good.
            warnings.warn(f"the environments did not close within {self._env_timeout_s} s", stacklevel=2)
        finally:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def _close_all(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def run(
        self, requests: Sequence[EpisodeRequest], sampling: Sampling, on_episode: OnEpisode | None = None
    ) -> list[Episode]:
        """Run all requests; episodes come back in their order. `on_episode` is called as each one ends."""
        await self._grow(min(self._num_slots, len(requests)))
        queue = iter(list(enumerate(requests)))
        results: dict[int, Episode] = {}
        workers = [self._work(env, queue, sampling, results, on_episode) for env in self._idle]
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(worker)
        return [results[index] for index in range(len(requests))]

    async def _work(
        self,
        env: TokenEnv,
        queue: Iterator[tuple[int, EpisodeRequest]],
        sampling: Sampling,
        results: dict[int, Episode],
        on_episode: OnEpisode | None,
    ) -> None:
        for index, request in queue:
            for attempt in range(1 + self._num_retries):
                self.num_retried += attempt > 0
                episode = results[index] = await self._play(env, request, sampling)
                if episode.outcome != "unresolved":
                    break
            if on_episode is not None:
                on_episode(results[index])

    async def _play(self, env: TokenEnv, request: EpisodeRequest, sampling: Sampling) -> Episode:
        session = self.engine.open_session(request.order)
        try:
            return await run_episode(request, env, session, sampling, self._executor, self._env_timeout_s)
        finally:
            session.close()

    async def _grow(self, count: int) -> None:
        while len(self._idle) < count:
            env = await call_in_thread(
                "building an environment", self._make_env, self._executor, self._env_timeout_s
            )
            if not (env.card.bounded or isinstance(env.env.unwrapped, WorkerEnv)):
                await call_in_thread("closing an environment", env.close, self._executor, self._env_timeout_s)
                raise ValueError(
                    f"{type(env.env.unwrapped).__name__} is not declared bounded (pure and quick); "
                    "run it in a worker process (molt_envs.workers.WorkerPool)"
                )
            self._idle.append(env)
