"""The learner's processes as actors, and the loop's seam in front of them.

In: batches from the driver. Out: metrics, weights in the object store, states. One that is lost takes the
others along: what they knew is in the last checkpoint, from which the run goes on.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import dataclasses
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray

from molt_train.cluster.calls import Lost, answer
from molt_train.cluster.engines import ShippedWeights, file_bytes
from molt_train.cluster.launch import placed
from molt_train.config import Config
from molt_train.loop.learner_client import LearnerLost
from molt_train.loop.rank_learner import METHODS, RankLearner
from molt_train.rewards import Graded
from molt_train.weight_sync import PublishedWeights

STEP_TIMEOUT_S = 24 * 3600.0
"""One update of the largest model."""


class LearnerActor:
    """One process of the learner, on its node, one call at a time."""

    def __init__(self, config: Config, rank: int) -> None:
        self._config, self._rank = config, rank
        self._learner: RankLearner | None = None

    def address(self) -> str:
        """Where others of the grid can find this process."""
        with socket.socket() as probe:
            probe.bind(("", 0))
            return f"{ray.util.get_node_ip_address()}:{probe.getsockname()[1]}"

    def start(self, address: str) -> None:
        """Join the others and load."""
        self._learner = RankLearner(self._config, self._rank, address)

    def call(self, name: str, *args: Any) -> Any:
        """A method of `RankLearner`."""
        assert self._learner is not None, "started"
        return METHODS[name](self._learner, *args)

    def publish(self) -> tuple[PublishedWeights, Any] | None:
        """The published weights and a reference of their bytes, of process 0."""
        assert self._learner is not None, "started"
        weights = self._learner.publish()
        return None if weights is None else (weights, ray.put(file_bytes(weights.path)))


class RemoteLearner:
    """Implements `LearnerClient` over an actor for each process of the grid."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._timeout_s = config.cluster.call_timeout_s + config.parallel.timeout_s
        options = placed(config.cluster, "learner")
        self._actors = [
            ray.remote(LearnerActor).options(**options).remote(config, rank)
            for rank in range(config.parallel.num_processes)
        ]
        self._policy_version = 0

    async def start(self) -> None:
        """Bring the processes together; raises `ValueError` for a grid that does not fit the model."""
        address = await answer("the learner's address", self._actors[0].address.remote(), self._timeout_s)
        starts = [actor.start.remote(address) for actor in self._actors]
        await self._answers("start", starts, self._timeout_s)

    @property
    def policy_version(self) -> int:
        """Updates so far."""
        return self._policy_version

    async def train_step(self, graded: Sequence[Graded]) -> dict[str, float]:
        """One update; gives its metrics."""
        metrics = await self._call("train_step", STEP_TIMEOUT_S, ray.put(graded))
        self._policy_version += 1
        return metrics

    async def publish(self) -> PublishedWeights:
        """The weights, with a reference of their bytes for engines on other nodes."""
        published = [actor.publish.remote() for actor in self._actors]
        weights, data = await self._answers("publish", published, self._timeout_s)
        fields = {field.name: vars(weights)[field.name] for field in dataclasses.fields(weights)}
        return ShippedWeights(**fields, data=data)

    async def state(self) -> dict[str, Any]:
        """What a checkpoint needs."""
        return await self._call("state", self._timeout_s)

    async def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()`."""
        self._policy_version = await self._call("load_state", self._timeout_s, ray.put(state))

    async def export(self, folder: Path) -> None:
        """Write the model in the Hugging Face format, on the learner's node."""
        await self._call("export", self._timeout_s, folder.resolve())

    def close(self) -> None:
        """End the actors; idempotent."""
        for actor in self._actors:
            ray.kill(actor)

    async def _call(self, name: str, timeout_s: float, *args: Any) -> Any:
        calls = [actor.call.remote(name, *args) for actor in self._actors]
        return await self._answers(name, calls, timeout_s)

    async def _answers(self, name: str, references: list[Any], timeout_s: float) -> Any:
        """Process 0's answer once all have answered; the first loss of one is everybody's."""
        waiting = [
            asyncio.ensure_future(answer(f"learner process {rank} in {name}", reference, timeout_s))
            for rank, reference in enumerate(references)
        ]
        try:
            return (await asyncio.gather(*waiting))[0]
        except (Lost, RuntimeError) as error:
            raise LearnerLost(str(error)) from error
        finally:
            for task in waiting:
                task.cancel()
