"""The loop's view of the learner: a seam, since it may train in a thread here or on another machine.

In: batches of graded episodes. Out: metrics, new weights, states for checkpoints.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from molt_train.learner import Learner
from molt_train.model.export import export_model
from molt_train.rewards import Graded
from molt_train.weight_sync import PublishedWeights, WeightPublisher

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_Result = TypeVar("_Result")


class LearnerLost(RuntimeError):
    """A process of the learner died or did not answer: what it knew is in the last checkpoint."""


class LearnerClient(Protocol):
    """Trains the policy; one call at a time."""

    @property
    def policy_version(self) -> int:
        """Updates so far."""
        ...

    async def train_step(self, graded: Sequence[Graded]) -> dict[str, float]:
        """One update; gives its metrics."""
        ...

    async def publish(self) -> PublishedWeights:
        """The weights as a file that engines read."""
        ...

    async def state(self) -> dict[str, Any]:
        """What a checkpoint needs to go on exactly."""
        ...

    async def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()`."""
        ...

    async def export(self, folder: Path) -> None:
        """Write the model in the Hugging Face format."""
        ...

    def close(self) -> None:
        """Free what it holds; idempotent."""
        ...


class LocalLearner:
    """Implements `LearnerClient`: trains in a thread, so that rollout goes on meanwhile."""

    def __init__(self, learner: Learner, tokenizer: PreTrainedTokenizerBase) -> None:
        self._learner, self._tokenizer = learner, tokenizer
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="learner")
        self._publisher = WeightPublisher()

    @property
    def policy_version(self) -> int:
        """Updates so far."""
        return self._learner.policy_version

    async def train_step(self, graded: Sequence[Graded]) -> dict[str, float]:
        """One update; gives its metrics."""
        return await self._call(lambda: self._learner.train_step(graded))

    async def publish(self) -> PublishedWeights:
        """The weights as a file in shared memory."""
        return await self._call(
            lambda: self._publisher.publish(self._learner.model, self._learner.policy_version)
        )

    async def state(self) -> dict[str, Any]:
        """What a checkpoint needs; its tensors are the learner's own."""
        return self._learner.state()

    async def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()`."""
        await self._call(lambda: self._learner.load_state(state))

    async def export(self, folder: Path) -> None:
        """Write the model in the Hugging Face format."""
        await self._call(lambda: export_model(self._learner.model, self._tokenizer, folder))

    def close(self) -> None:
        """Remove the published weights."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._publisher.close()

    async def _call(self, function: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)
