"""The learner in an actor, and the loop's seam in front of it.

In: batches from the driver. Out: metrics, weights in the object store, states. It is not made again by
itself: what it knows is in the last checkpoint, from which the run is resumed.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
import torch

from molt_train.cluster.calls import answer
from molt_train.cluster.engines import ShippedWeights, file_bytes
from molt_train.cluster.launch import placed
from molt_train.config import Config
from molt_train.learner import Learner
from molt_train.loop.actor import load_policy
from molt_train.model.export import export_model
from molt_train.model.load import load_tokenizer
from molt_train.rewards import Graded
from molt_train.weight_sync import PublishedWeights, WeightPublisher

STEP_TIMEOUT_S = 24 * 3600.0
"""One update of the largest model."""


class LearnerActor:
    """Runs on its node, one call at a time."""

    def __init__(self, config: Config) -> None:
        torch.manual_seed(config.train.seed)
        self._config = config
        self._learner = Learner(load_policy(config), config)
        self._publisher = WeightPublisher()

    def train_step(self, graded: Sequence[Graded]) -> dict[str, float]:
        """See `LearnerClient`."""
        return self._learner.train_step(graded)

    def publish(self) -> tuple[PublishedWeights, Any]:
        """The published weights and a reference of their bytes."""
        weights = self._publisher.publish(self._learner.model, self._learner.policy_version)
        return weights, ray.put(file_bytes(weights.path))

    def state(self) -> dict[str, Any]:
        """See `LearnerClient`."""
        return self._learner.state()

    def load_state(self, state: dict[str, Any]) -> int:
        """See `LearnerClient`; gives the version."""
        self._learner.load_state(state)
        return self._learner.policy_version

    def export(self, folder: Path) -> None:
        """See `LearnerClient`; the folder is one of the learner's node."""
        export_model(self._learner.model, load_tokenizer(self._config.model.path), folder)


class RemoteLearner:
    """Implements `LearnerClient` over an actor."""

    def __init__(self, config: Config) -> None:
        self._timeout_s = config.cluster.call_timeout_s
        self._actor = ray.remote(LearnerActor).options(**placed(config.cluster, "learner")).remote(config)
        self._policy_version = 0

    @property
    def policy_version(self) -> int:
        """Updates so far."""
        return self._policy_version

    async def train_step(self, graded: Sequence[Graded]) -> dict[str, float]:
        """One update; gives its metrics."""
        metrics = await answer("the learner's step", self._actor.train_step.remote(graded), STEP_TIMEOUT_S)
        self._policy_version += 1
        return metrics

    async def publish(self) -> PublishedWeights:
        """The weights, with a reference of their bytes for engines on other nodes."""
        weights, data = await answer("publishing weights", self._actor.publish.remote(), self._timeout_s)
        fields = {field.name: vars(weights)[field.name] for field in dataclasses.fields(weights)}
        return ShippedWeights(**fields, data=data)

    async def state(self) -> dict[str, Any]:
        """What a checkpoint needs."""
        return await answer("the learner's state", self._actor.state.remote(), self._timeout_s)

    async def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()`."""
        reference = self._actor.load_state.remote(state)
        self._policy_version = await answer("loading the learner's state", reference, self._timeout_s)

    async def export(self, folder: Path) -> None:
        """Write the model in the Hugging Face format, on the learner's node."""
        await answer("exporting the model", self._actor.export.remote(folder.resolve()), self._timeout_s)

    def close(self) -> None:
        """End the actor; idempotent."""
        ray.kill(self._actor)
