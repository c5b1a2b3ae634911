"""Runs many episodes at once, a bounded number at a time.

In: requests. Out: episodes, one per request. Environments are called in threads, never on the event loop: one
thread serves all that run in this process, so that each is built, stepped and closed in one; those in worker
processes have a thread each, which waits for its worker.
"""

from __future__ import annotations

import asyncio
import itertools
import warnings
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType

from molt_envs import AgentEnv, Episode, TokenEnv
from molt_train.rollout.engine import Engine, Sampling
from molt_train.rollout.episode import EpisodeRequest, call_in_thread, run_episode
from molt_train.rollout.supervision import supervise
from molt_train.rollout.usage import TimedSession, Usage

OnEpisode = Callable[[Episode], None]


@dataclass(eq=False)
class _Job:
    """A request that waits for a worker, or is with one."""

    request: EpisodeRequest
    sampling: Sampling
    future: asyncio.Future[Episode]


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
        self.usage = Usage()
        self._executor = ThreadPoolExecutor(num_threads, thread_name_prefix="environments")
        self._idle: list[TokenEnv] = []
        self._jobs: deque[_Job] = deque()
        self._wake = asyncio.Event()
        self._is_served = False
        self._orders = itertools.count()

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

    @asynccontextmanager
    async def serving(self, num_episodes: int) -> AsyncGenerator[None]:
        """While the block runs, what is submitted is played, up to `num_episodes` and the slots at once.

        A block inside another changes nothing. An error in a worker cancels the block and is raised from it.
        """
        if self._is_served:
            yield
            return
        await self._grow(min(self._num_slots, num_episodes))
        self._wake, self._is_served = asyncio.Event(), True
        try:
            async with supervise() as tasks:
                for env in self._idle:
                    tasks.start(self._work(env), "episodes")
                yield
        finally:
            self._jobs.clear()
            self._is_served = False

    def submit(self, request: EpisodeRequest, sampling: Sampling) -> asyncio.Future[Episode]:
        """Queue an episode, inside a `serving` block. All that one step of the event loop submits starts
        together, as far as there are slots."""
        assert self._is_served
        job = _Job(request, sampling, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._wake.set()
        return job.future

    async def run(
        self, requests: Sequence[EpisodeRequest], sampling: Sampling, on_episode: OnEpisode | None = None
    ) -> list[Episode]:
        """Run all requests; episodes come back in their order. `on_episode` is called as each one ends."""

        async def one(future: asyncio.Future[Episode]) -> Episode:
            episode = await future
            if on_episode is not None:
                on_episode(episode)
            return episode

        async with self.serving(len(requests)):
            futures = [self.submit(request, sampling) for request in requests]
            return await asyncio.gather(*map(one, futures))

    async def _work(self, env: TokenEnv) -> None:
        """One slot: takes the next request in the loop step in which the last one ends."""
        while True:
            while not self._jobs:
                self._wake.clear()
                await self._wake.wait()
            job = self._jobs.popleft()
            with self.usage.episode():
                episode = await self._try(env, job)
            if not job.future.done():
                job.future.set_result(episode)

    async def _try(self, env: TokenEnv, job: _Job) -> Episode:
        """Play it until it is resolved or the retries are used up."""
        episode = await self._play(env, job)
        for _ in range(self._num_retries):
            if episode.outcome != "unresolved":
                break
            self.num_retried += 1
            episode = await self._play(env, job)
        return episode

    async def _play(self, env: TokenEnv, job: _Job) -> Episode:
        session = TimedSession(self.engine.open_session(next(self._orders)), self.usage)
        try:
            return await run_episode(
                job.request, env, session, job.sampling, self._executor, self._env_timeout_s
            )
        finally:
            session.close()

    async def _grow(self, count: int) -> None:
        while len(self._idle) < count:
            env = await call_in_thread(
                "building an environment", self._make_env, self._executor, self._env_timeout_s
            )
            if isinstance(env.env.unwrapped, AgentEnv) and not env.card.bounded:
                await call_in_thread("closing an environment", env.close, self._executor, self._env_timeout_s)
                raise ValueError(
                    f"{type(env.env.unwrapped).__name__} is not declared bounded (pure and quick); "
                    "run it in a worker process (molt_envs.workers.WorkerPool)"
                )
            self._idle.append(env)
