"""Environments on other nodes: an actor holds a pool of worker processes, and each environment here calls
one there.

In: resets and steps. Out: their results. A host that is lost is made again at the next reset of each of its
environments, which waits for its node; their running episodes end unresolved and are played again.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import threading
from typing import Any

import ray

from molt_envs import EnvCard, InfrastructureError, TextEnv
from molt_envs.workers import START_TIMEOUT_S, WorkerEnv, WorkerPool
from molt_train.cluster.calls import Lost, answer_in_thread
from molt_train.cluster.launch import placed
from molt_train.config import Config


class EnvHostActor:
    """Runs on its node: a thread for each environment."""

    def __init__(self, config: Config, card: EnvCard, num_envs: int) -> None:
        num_workers = min(config.rollout.num_env_workers or 1, num_envs)
        per_worker = -(-num_envs // num_workers)
        env, timeout_s = config.env, config.rollout.timeout_s
        self._pool = WorkerPool(env.id, env.kwargs, card, num_workers, per_worker, timeout_s)
        self._envs: dict[int, WorkerEnv] = {}
        self._lock = threading.Lock()

    def reset(self, number: int, seed: int | None, options: dict[str, Any] | None) -> Any:
        """Reset an environment; it is made at its first."""
        with self._lock:
            if number not in self._envs:
                self._envs[number] = self._pool.make_env()
        return self._envs[number].reset(seed=seed, options=options)

    def step(self, number: int, action: str) -> Any:
        """Step it."""
        return self._envs[number].step(action)


class EnvHost:
    """One host as its environments see it: the actor of now, or a new one."""

    def __init__(self, config: Config, card: EnvCard, num_envs: int) -> None:
        self._config, self._card, self._num_envs = config, card, num_envs
        self.timeout_s = config.rollout.timeout_s + START_TIMEOUT_S
        self.rejoin_timeout_s = config.cluster.rejoin_timeout_s
        self._lock = threading.Lock()
        self._actor = self._make()

    @property
    def actor(self) -> Any:
        """The actor in use."""
        return self._actor

    def replace(self, lost: Any) -> None:
        """A new actor, unless another environment has seen to it."""
        with self._lock:
            if lost is self._actor:
                ray.kill(lost)
                self._actor = self._make()

    def close(self) -> None:
        """End the actor with its workers."""
        ray.kill(self._actor)

    def _make(self) -> Any:
        options = placed(self._config.cluster, "env")
        remote = ray.remote(EnvHostActor).options(max_concurrency=self._num_envs, **options)
        return remote.remote(self._config, self._card, self._num_envs)


class RemoteEnv(TextEnv):
    """An environment on a host; made for one number of it."""

    def __init__(self, host: EnvHost, card: EnvCard, number: int) -> None:
        super().__init__(card)
        self._host, self._number = host, number
        self._actor: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """See `AgentEnv.reset`. A host whose node is gone is waited for.

        Raises:
            InfrastructureError: it was not back in time, or the environment failed.
        """
        self._actor = self._host.actor
        timeout_s = self._host.rejoin_timeout_s
        return self._ask("reset", self._actor.reset.remote(self._number, seed, options), timeout_s)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """See `AgentEnv.step`.

        Raises:
            InfrastructureError: the host is lost, or the environment failed.
        """
        if self._actor is not self._host.actor:
            raise InfrastructureError("the host that this episode began on is gone")
        return self._ask("step", self._actor.step.remote(self._number, action), self._host.timeout_s)

    def _ask(self, what: str, reference: Any, timeout_s: float) -> Any:
        try:
            return answer_in_thread(f"{what} on an environment host", reference, timeout_s)
        except Lost as error:
            self._host.replace(self._actor)
            raise InfrastructureError(str(error)) from error
