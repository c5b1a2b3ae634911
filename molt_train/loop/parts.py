"""What a run works with: engine, learner, the way from one to the other, environments.

In: a configuration. Out: `Parts`, all in this process; a cluster has its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from molt_train.config import Config
from molt_train.learner import Learner
from molt_train.loop.actor import Actor, build_engine, load_policy
from molt_train.loop.engine_weights import EngineWeights, PublishedCopies, SharedWeights
from molt_train.loop.environments import EnvSource, open_environments
from molt_train.loop.learner_client import LearnerClient, LocalLearner
from molt_train.loop.process_learner import ProcessLearner
from molt_train.reaper import reaping
from molt_train.rollout.engine import Engine
from molt_train.rollout.transformers_engine import TransformersEngine

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Parts:
    """Behind seams, so that the loop does not know where they run."""

    engine: Engine
    """Samples; started."""
    learner: LearnerClient
    """Trains."""
    weights: EngineWeights
    """Brings the learner's weights to the engine."""
    envs: EnvSource
    """Makes environments."""


OpenParts = Callable[[Config, Actor, int], AbstractAsyncContextManager[Parts]]
"""(configuration, actor, episodes that run at the same time) -> the parts, open while the block runs."""


@asynccontextmanager
async def local_parts(config: Config, actor: Actor, num_slots: int) -> AsyncGenerator[Parts]:
    """All in this process, but for engines and environments that have processes of their own.

    Engine and learner hold one model where they never work at the same time.
    """
    alone = config.parallel.num_processes == 1
    model = load_policy(config) if alone else None
    shares = alone and config.rollout.engine == "transformers" and config.rollout.mode == "sync"
    with (
        reaping() if config.rollout.engine == "vllm" else contextlib.nullcontext(),
        contextlib.closing(build_engine(config, num_slots, model if shares else None)) as engine,
        contextlib.closing(_learner(config, actor, model)) as learner,
        open_environments(config, actor, num_slots) as envs,
    ):
        await engine.start()
        weights: EngineWeights = PublishedCopies(engine, learner)
        if shares:
            assert isinstance(engine, TransformersEngine)
            weights = SharedWeights(engine, learner)
        yield Parts(engine, learner, weights, envs)


def _learner(config: Config, actor: Actor, model: PreTrainedModel | None) -> LocalLearner | ProcessLearner:
    """In a thread with the model that is loaded, or in processes that load their parts."""
    if model is None:
        return ProcessLearner(config)
    return LocalLearner(Learner(model, config), actor.tokenizer)
