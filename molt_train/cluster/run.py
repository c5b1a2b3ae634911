"""A run whose parts are Ray actors; the loop is the same.

In: a configuration with section `cluster`. Out: the run's folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from molt_envs import TokenEnv
from molt_train.cluster.engines import RemoteEngine
from molt_train.cluster.environments import EnvHost, RemoteEnv
from molt_train.cluster.launch import connected
from molt_train.cluster.learners import RemoteLearner
from molt_train.config import Config
from molt_train.loop.actor import Actor
from molt_train.loop.engine_weights import PublishedCopies
from molt_train.loop.environments import EnvSource
from molt_train.loop.parts import Parts
from molt_train.rollout.router import EngineRouter


@asynccontextmanager
async def cluster_parts(config: Config, actor: Actor, num_slots: int) -> AsyncGenerator[Parts]:
    """Engines behind a router, environment hosts dealt out in turn, one learner; all end with the block."""
    cluster = config.cluster
    slots_each = -(-num_slots // cluster.num_engines)
    envs_each = -(-num_slots // cluster.num_env_hosts)
    with contextlib.ExitStack() as stack:
        stack.enter_context(connected(cluster))
        learner = stack.enter_context(contextlib.closing(RemoteLearner(config)))
        engines = [RemoteEngine(config, slots_each) for _ in range(cluster.num_engines)]
        engine = stack.enter_context(contextlib.closing(EngineRouter(engines, cluster.rejoin_timeout_s)))
        hosts = [EnvHost(config, actor.card, envs_each) for _ in range(cluster.num_env_hosts)]
        for host in hosts:
            stack.callback(host.close)
        await learner.start()
        await engine.start()
        weights = PublishedCopies(engine, learner)
        yield Parts(engine, learner, weights, _source(config, actor, hosts, num_slots))


def _source(config: Config, actor: Actor, hosts: list[EnvHost], num_slots: int) -> EnvSource:
    places = iter([(number % len(hosts), number // len(hosts)) for number in range(num_slots)])

    def make_env() -> TokenEnv:
        host, number = next(places)
        return actor.wrap(RemoteEnv(hosts[host], actor.card, number))

    timeout_s = config.cluster.rejoin_timeout_s + hosts[0].timeout_s
    return EnvSource(make_env, num_slots, timeout_s)
