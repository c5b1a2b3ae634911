"""A pool of worker processes and the environments in them.

In: an id, its arguments, its card. Out: `WorkerEnv`s, whose calls run in a worker. A worker that
ends or does not answer is replaced at the next reset of each of its environments; their running episodes end
with an `InfrastructureError`. One that outgrows its memory is replaced as its episodes end, and none is lost.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from molt_envs.env import EnvCard, TextEnv
from molt_envs.errors import EpisodeDone, InfrastructureError
from molt_envs.policy import Policy
from molt_envs.protocol.images import Observation
from molt_envs.workers.frames import KINDS, FrameError, receive_frame, send_frame
from molt_envs.workers.process import WorkerProcess

START_TIMEOUT_S = 120.0
"""Bound of starting a worker and making an environment in it."""


class WorkerPool:
    """Use it in a `with` block; leaving it ends every worker.

    Args:
        env_id: a registered id.
        kwargs: for `gymnasium.make`; plain values.
        card: what the environment declares.
        num_workers: processes; environments are dealt out to them in turn.
        envs_per_worker: environments in one process, each in a thread of its own.
        timeout_s: bound of one `reset` or `step`; a worker that takes longer is killed.
        memory_bytes: resident memory beyond which a worker is replaced.
    """

    def __init__(
        self,
        env_id: str,
        kwargs: Mapping[str, Any],
        card: EnvCard,
        num_workers: int = 1,
        envs_per_worker: int = 1,
        timeout_s: float = 60.0,
        memory_bytes: int = 2 * 2**30,
    ) -> None:
        if num_workers < 1 or envs_per_worker < 1:
            raise ValueError(f"{num_workers} workers of {envs_per_worker} environments; at least 1 of each")
        self.env_id, self.kwargs, self.card = env_id, dict(kwargs), card
        self.timeout_s, self.memory_bytes = timeout_s, memory_bytes
        self.num_replaced = 0
        self._num_workers, self._envs_per_worker = num_workers, envs_per_worker
        self._workers: dict[int, _Worker] = {}
        self._retired: list[_Worker] = []
        self._num_made = 0
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def make_env(self) -> WorkerEnv:
        """The next environment.

        Raises:
            ValueError: all are given out.
        """
        with self._lock:
            if self._num_made == self._num_workers * self._envs_per_worker:
                raise ValueError(
                    f"all {self._num_made} environments of the pool are given out; make a larger one"
                )
            self._num_made += 1
            return WorkerEnv(self, self._num_made - 1)

    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers in use."""
        with self._lock:
            return tuple(worker.process.pid for worker in self._workers.values())

    def close(self) -> None:
        """End every worker; idempotent."""
        with self._lock:
            self._closed = True
            workers, self._workers = [*self._workers.values(), *self._retired], {}
        for worker in workers:
            worker.process.kill()

    def seat(self, number: int) -> _Seat:
        """A place in a worker that runs, for environment `number`; the worker is started where need be."""
        place, row = number % self._num_workers, number // self._num_workers
        with self._lock:
            if self._closed:
                raise EpisodeDone("the pool of workers is closed")
            worker = self._workers.get(place)
            if worker is None or worker.retired or not worker.process.alive:
                if worker is not None:
                    self._retire(worker)
                worker = self._workers[place] = _Worker(WorkerProcess(self._envs_per_worker))
            worker.num_seated += 1
            return _Seat(worker, row)

    def leave(self, seat: _Seat) -> None:
        """Give a place back; a retired worker that nobody sits in any more is ended."""
        with self._lock:
            seat.worker.num_seated -= 1
            if seat.worker in self._retired and not seat.worker.num_seated:
                self._retired.remove(seat.worker)
                seat.worker.process.kill()

    def _retire(self, worker: _Worker) -> None:
        """Let its other environments finish their episodes, if it lives."""
        self.num_replaced += 1
        worker.retired = True
        if worker.num_seated and worker.process.alive:
            self._retired.append(worker)
        else:
            worker.process.kill()


class _Worker:
    """A process, how many environments sit in it, and whether it takes no new episode."""

    def __init__(self, process: WorkerProcess) -> None:
        self.process = process
        self.num_seated = 0
        self.retired = False


class _Seat:
    """One environment's place in a worker."""

    def __init__(self, worker: _Worker, row: int) -> None:
        self.worker = worker
        self._socket = worker.process.sockets[row]

    def call(self, timeout_s: float, *message: Any) -> Any:
        """Ask the environment; its errors are raised here with their types.

        Raises:
            InfrastructureError: the worker ended, or did not answer in time and was killed.
        """
        try:
            send_frame(self._socket, message, timeout_s)
            kind, value = receive_frame(self._socket, timeout_s)
        except TimeoutError as error:
            self.worker.retired = True
            self.worker.process.kill()
            raise InfrastructureError(
                f"{message[0]} did not return within {timeout_s} s; its worker was killed"
            ) from error
        except (FrameError, OSError) as error:
            self.worker.retired = True
            raise InfrastructureError(f"{message[0]}: {self.worker.process.kill()}") from error
        if kind != "ok":
            raise KINDS[kind](value)
        return value


class WorkerEnv(TextEnv):
    """An environment in a worker; made by `WorkerPool.make_env`. Its policies act in the worker as well."""

    def __init__(self, pool: WorkerPool, number: int) -> None:
        super().__init__(pool.card)
        self._pool, self._number = pool, number
        self._seat: _Seat | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """See `AgentEnv.reset`.

        Raises:
            InfrastructureError: the worker ended or took too long.
        """
        seat = self._seated()
        self._observation, info, memory_bytes = seat.call(self._pool.timeout_s, "reset", seed, options)
        if memory_bytes > self._pool.memory_bytes:
            seat.worker.retired = True
        return self._observation, info

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """See `AgentEnv.step`.

        Raises:
            InfrastructureError: the worker ended or took too long.
        """
        if not isinstance(action, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"an action is a str, not {type(action).__name__}")
        self._observation, reward, terminated, truncated, info = self._ask("step", action)
        return self._observation, reward, terminated, truncated, info

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy | None:
        """See `TextEnv.oracle`."""
        found = self._ask("oracle", seed, noise)
        return _WorkerPolicy(self, "oracle") if found else None

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `TextEnv.baselines`."""
        return {name: _WorkerPolicy(self, name) for name in self._ask("baselines", seed)}

    def act(self, policy: str, observation: Observation, info: Mapping[str, Any]) -> str:
        """What one of its own policies does."""
        return self._ask("act", policy, observation, dict(info))

    def _ask(self, *message: Any) -> Any:
        if self._seat is None:
            raise EpisodeDone(f"{message[0]}: no episode is running; call reset() first")
        return self._seat.call(self._pool.timeout_s, *message)

    def close(self) -> None:
        """Give the place back; idempotent."""
        seat, self._seat = self._seat, None
        if seat is not None:
            self._pool.leave(seat)

    def _seated(self) -> _Seat:
        if self._seat is not None and self._seat.worker.retired:
            self.close()
        if self._seat is None:
            seat = self._pool.seat(self._number)
            self._seat = seat
            seat.call(START_TIMEOUT_S, "make", self._pool.env_id, self._pool.kwargs)
        return self._seat


class _WorkerPolicy:
    """A policy that lives beside its environment, whose secrets it may know."""

    def __init__(self, env: WorkerEnv, name: str) -> None:
        self._env, self._name = env, name

    def act(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """The next action."""
        return self._env.act(self._name, observation, info)
