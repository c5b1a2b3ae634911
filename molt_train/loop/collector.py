"""Keeps episodes coming: admits groups of attempts, grades what ends, hands batches to the learner.

In: tasks, and the learner's calls `admit`, `take`, `trained`. Out: batches of complete groups, and what a
checkpoint needs. How far rollout runs ahead of training is the buffer's rule; nothing here throws an
episode away.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import numpy as np

from molt_envs import Episode, episode_from_msgpack, episode_to_msgpack
from molt_train.config import Config
from molt_train.data.tasks import SamplerState, TaskSampler
from molt_train.loop.buffer import Group, GroupBuffer
from molt_train.loop.rollouts import group_requests, is_informative, penalise_length
from molt_train.monitor.progress import Progress
from molt_train.rewards import Graded, RewardFunction, grade_with_timeout
from molt_train.rollout.engine import Sampling
from molt_train.rollout.runner import RolloutRunner
from molt_train.rollout.supervision import Supervisor, supervise

MAX_REFILLS = 10
"""Batches that dynamic sampling may drop for one step; then the step trains on the groups that it has."""
NUM_GRADERS = 4
"""Threads for reward functions."""


class Stalled(RuntimeError):
    """No episode ended for too long."""


class Collector:
    """One run's rollout; use `running` around the steps.

    Args:
        config: `rollout`, `algorithm` and `train` are read.
        sampler: gives the tasks.
        runner: plays the episodes.
        sampling: how turns are sampled.
        reward: grades an episode.
        progress: shows how many episodes have ended.
    """

    def __init__(
        self,
        config: Config,
        sampler: TaskSampler,
        runner: RolloutRunner,
        sampling: Sampling,
        reward: RewardFunction,
        progress: Progress,
    ) -> None:
        rollout = config.rollout
        self._config, self._sampler, self._runner = config, sampler, runner
        self._sampling, self._reward, self._progress = sampling, reward, progress
        self._buffer = GroupBuffer(rollout.num_tasks, rollout.staleness_bound, rollout.in_order)
        self._graders = ThreadPoolExecutor(NUM_GRADERS, thread_name_prefix="graders")
        self._ended = asyncio.Event()
        self._next_index = self._num_dropped = self._num_batches_left = 0
        self._is_awaited = False
        self._tasks: Supervisor | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Episodes run while the block does; an error of any of them cancels the block and is raised."""
        try:
            async with self._runner.serving(self._config.rollout.num_slots), supervise() as tasks:
                self._tasks = tasks
                for group in self._buffer.groups:
                    self._start(group)
                yield
        finally:
            self._graders.shutdown(wait=False, cancel_futures=True)

    def admit(self, num_batches_left: int) -> None:
        """Begin as many groups as the bound allows and `num_batches_left` batches need."""
        self._num_batches_left = num_batches_left
        self._admit()

    async def take(self, version: int) -> tuple[list[Graded], int]:
        """Wait for the batch that the learner trains on at `version`; gives its episodes in the order of
        groups and attempts, and how many groups dynamic sampling dropped on the way.

        Raises:
            Stalled: no episode ended for `rollout.stall_timeout_s`.
        """
        size = self._config.rollout.group_size
        self._is_awaited = True
        self._progress.phase("rollout", self._config.rollout.num_tasks * size)
        self._progress.advance(sum(len(group.graded) for group in self._buffer.groups))
        while (batch := self._buffer.take(version, self._batch_size())) is None:
            await self._next_end()
        self._is_awaited = False
        num_dropped, self._num_dropped = self._num_dropped, 0
        return [group.graded[attempt] for group in batch for attempt in range(size)], num_dropped

    def trained(self) -> None:
        """The learner is done with the batch, and the engine has its weights."""
        self._buffer.trained()

    async def drain(self) -> None:
        """Wait until no episode runs."""
        while self._buffer.num_incomplete:
            await self._next_end()

    def state(self) -> dict[str, Any]:
        """Where the tasks stand, and the groups that are outstanding: ended attempts are kept, the others are
        played again."""
        position = self._sampler.state
        return {
            "epoch": position.epoch,
            "position": position.position,
            "next_index": self._next_index,
            "groups": [_group_state(group) for group in self._buffer.groups],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state()`; before `running`."""
        self._sampler.state = SamplerState(state["epoch"], state["position"])
        self._next_index = state["next_index"]
        for group in state["groups"]:
            self._buffer.admit(_group_from_state(group))

    def _admit(self) -> None:
        num_outstanding = len(self._buffer.groups)
        num_tasks = self._config.rollout.num_tasks
        count = min(self._buffer.num_admissible, self._num_batches_left * num_tasks - num_outstanding)
        waits = self._config.rollout.in_order and self._buffer.num_incomplete > 0
        if waits or count <= 0 or self._is_refilled_enough:
            return
        for task_id in self._sampler.next(count):
            group = Group(self._next_index, task_id, self._runner.engine.policy_version, {})
            self._next_index += 1
            self._buffer.admit(group)
            self._start(group)

    @property
    def _is_refilled_enough(self) -> bool:
        return self._num_dropped >= MAX_REFILLS * self._config.rollout.num_tasks

    def _batch_size(self) -> int | None:
        """The usual, unless dynamic sampling has given up and all that runs has ended."""
        if self._is_refilled_enough and self._buffer.num_incomplete == 0:
            return min(len(self._buffer.groups), self._config.rollout.num_tasks)
        return None

    def _start(self, group: Group) -> None:
        """Submit the attempts that are missing, all in this step of the event loop."""
        if group.is_complete:
            return
        requests = group_requests(self._config, group.index, group.task_id)
        futures = {
            attempt: self._runner.submit(request, self._sampling)
            for attempt, request in enumerate(requests)
            if attempt not in group.graded
        }
        assert self._tasks is not None
        self._tasks.start(self._finish(group, futures), f"group {group.index}")

    async def _finish(self, group: Group, futures: Mapping[int, asyncio.Future[Episode]]) -> None:
        await asyncio.gather(*(self._grade(group, attempt, future) for attempt, future in futures.items()))
        algorithm = self._config.algorithm
        members = penalise_length([group.graded[attempt] for attempt in sorted(group.graded)], self._config)
        group.graded = dict(enumerate(members))
        if algorithm.dynamic_sampling and not is_informative(
            members, algorithm.dynamic_low, algorithm.dynamic_high
        ):
            self._buffer.drop(group)
            self._num_dropped += 1
        else:
            group.is_complete = True
        if self._num_dropped:
            self._admit()
        self._ended.set()

    async def _grade(self, group: Group, attempt: int, future: asyncio.Future[Episode]) -> None:
        episode = await future
        timeout_s = self._config.rollout.reward_timeout_s
        group.graded[attempt] = await grade_with_timeout(episode, self._reward, self._graders, timeout_s)
        if self._is_awaited:
            self._progress.advance()
        self._ended.set()

    async def _next_end(self) -> None:
        timeout_s = self._config.rollout.stall_timeout_s
        self._ended.clear()
        try:
            async with asyncio.timeout(timeout_s):
                await self._ended.wait()
        except TimeoutError as error:
            running = [group for group in self._buffer.groups if not group.is_complete]
            tasks = ", ".join(group.task_id for group in running[:5])
            raise Stalled(
                f"no episode ended for {timeout_s} s; {len(running)} groups are under way: {tasks}"
            ) from error


def _group_state(group: Group) -> dict[str, Any]:
    return {
        "index": group.index,
        "task_id": group.task_id,
        "policy_version": group.policy_version,
        "is_complete": group.is_complete,
        "graded": [
            (attempt, item.reward, np.frombuffer(episode_to_msgpack(item.episode), dtype=np.uint8))
            for attempt, item in sorted(group.graded.items())
        ],
    }


def _group_from_state(state: Mapping[str, Any]) -> Group:
    graded: Sequence[tuple[int, float | None, np.ndarray[Any, np.dtype[np.uint8]]]] = state["graded"]
    return Group(
        state["index"],
        state["task_id"],
        state["policy_version"],
        {attempt: Graded(episode_from_msgpack(data.tobytes()), reward) for attempt, reward, data in graded},
        state["is_complete"],
    )
