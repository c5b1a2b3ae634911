"""The training loop: sample, grade, update, evaluate, record; step after step.

In: a configuration. Out: a run folder with metrics, evaluations, checkpoints, sample episodes and a report.

One loop for all modes: how far rollout runs ahead is the buffer's bound (`rollout.mode`), and whether
episodes are under way while the engine takes new weights is `TrainingLoop._update_engine`'s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import torch

from molt_train.config import Config
from molt_train.data.tasks import TaskSampler, evaluation_tasks
from molt_train.loop.actor import Actor, build_actor, rollout_sampling
from molt_train.loop.collector import Collector
from molt_train.loop.evaluate import evaluate
from molt_train.loop.failures import check_resolved
from molt_train.loop.folder import MODEL, RunFolder
from molt_train.loop.learner_client import LearnerLost
from molt_train.loop.parts import OpenParts, Parts, local_parts
from molt_train.loop.rollouts import shuffle_rewards
from molt_train.loop.statistics import (
    check_staleness,
    evaluation_metrics,
    group_rows,
    rollout_metrics,
)
from molt_train.monitor.progress import Progress
from molt_train.rewards import load_reward
from molt_train.rollout.runner import RolloutRunner
from molt_train.threads import share_cores


def train(config: Config, progress: Progress, open_parts: OpenParts = local_parts) -> Path:
    """Run the recipe; gives the run's folder. A learner process that is lost costs the steps since the last
    checkpoint, from which the run goes on by itself.

    Raises:
        ValueError: the configuration asks for something that does not exist.
        LearnerLost: for the last time that `parallel.max_restarts` allows.
        TooManyUnresolved: see `rollout.max_unresolved_share`; the run's folder is kept and can be resumed.
    """
    slots = config.rollout.num_slots
    for num_left in range(config.parallel.max_restarts, -1, -1):
        try:
            return asyncio.run(_with_loop(config, progress, slots, open_parts, TrainingLoop.run))
        except LearnerLost as lost:
            if num_left == 0:
                raise
            progress.say(f"{lost}; going on from the last checkpoint ({num_left} more times at most)")
            config = config.model_copy(update={"run": config.run.model_copy(update={"resume": True})})
    raise AssertionError("the last attempt returns or raises")


def evaluate_policy(config: Config, progress: Progress, open_parts: OpenParts = local_parts) -> Path:
    """Judge the model on the held-out tasks without training; gives the folder `run.dir`."""
    slots = config.eval.num_slots
    return asyncio.run(_with_loop(config, progress, slots, open_parts, TrainingLoop.evaluate))


async def _with_loop(
    config: Config,
    progress: Progress,
    num_slots: int,
    open_parts: OpenParts,
    work: Callable[[TrainingLoop], Awaitable[None]],
) -> Path:
    apart = config.cluster.num_engines if config.cluster.enabled else config.rollout.engine == "vllm"
    share_cores(config.parallel.num_processes + apart)
    torch.manual_seed(config.train.seed)
    load_reward(config.rollout.reward)
    actor = build_actor(config)
    with RunFolder(config, progress) as folder:
        async with open_parts(config, actor, num_slots) as parts:
            envs, num_retries = parts.envs, config.rollout.num_retries
            with RolloutRunner(
                parts.engine, envs.make_env, num_slots, envs.timeout_s, envs.num_threads, num_retries
            ) as runner:
                await work(TrainingLoop(config, actor, parts, runner, folder, progress))
    return folder.path


class TrainingLoop:
    """What one step needs, held together; `run` is the list of steps."""

    def __init__(
        self,
        config: Config,
        actor: Actor,
        parts: Parts,
        runner: RolloutRunner,
        folder: RunFolder,
        progress: Progress,
    ) -> None:
        self._label = "rl"
        self._config, self._actor, self._learner = config, actor, parts.learner
        self._weights, self._runner, self._folder, self._progress = parts.weights, runner, folder, progress
        split = config.rollout.split
        sampler = TaskSampler(split, actor.card.splits.get(split, 0), config.train.seed)
        sampling = rollout_sampling(config, actor, config.rollout.temperature)
        reward = load_reward(config.rollout.reward)
        self._collector = Collector(config, sampler, runner, sampling, reward, progress)
        self._step = 0

    async def run(self) -> None:
        """All steps, with evaluations where they are due."""
        await self._restore()
        total = self._config.train.num_steps
        self._progress.begin("training", total, self._step)
        async with self._collector.running():
            if self._step == 0:
                await self.evaluate()
            while self._step < total:
                await self._train_step()
                every = self._config.eval.every_steps
                if self._step == total or (every and self._step % every == 0):
                    await self.evaluate()
                await self._checkpoint()

    async def _train_step(self) -> None:
        rollout, version = self._config.rollout, self._learner.policy_version
        start, before, num_retried = time.monotonic(), self._runner.usage.waits(), self._runner.num_retried
        self._admit()
        graded, num_dropped = await self._collector.take(version)
        check_resolved([item.episode for item in graded], rollout.max_unresolved_share)
        check_staleness(graded, version, rollout.staleness_bound)
        sampled = time.monotonic()
        self._progress.phase("update")
        if self._config.train.shuffle_rewards:
            graded = shuffle_rewards(graded, self._config.train.seed, self._step)
        values = rollout_metrics(graded, version)
        values["num_groups_dropped"] = num_dropped
        values |= await self._learner.train_step(graded)
        await self._update_engine()
        self._step += 1
        if rollout.mode != "sync":
            self._admit()  # episodes go on while others are evaluated and a checkpoint is written
        values["num_retried"] = self._runner.num_retried - num_retried
        waits = self._runner.usage.waits() - before
        values |= self._folder.timings(start, sampled, time.monotonic(), waits, values)
        self._folder.record(self._step, values, group_rows(graded))

    def _admit(self) -> None:
        self._collector.admit(self._config.train.num_steps - self._step)

    async def _update_engine(self) -> None:
        """New weights; only `fully_async` gives them to episodes under way."""
        if self._config.rollout.mode != "fully_async":
            await self._collector.drain()
        await self._weights.push()
        self._collector.trained()

    async def evaluate(self) -> None:
        """Play the held-out tasks and record the result."""
        config = self._config
        splits = [(split, self._actor.card.splits.get(split, 0)) for split in config.eval.splits]
        task_ids = evaluation_tasks(splits, config.eval.num_tasks)
        self._progress.phase("evaluation", len(task_ids))
        sampling = rollout_sampling(config, self._actor, config.eval.temperature)
        result, episodes = await evaluate(
            self._runner,
            config.env.id,
            task_ids,
            sampling,
            config.eval.seed,
            lambda _: self._progress.advance(),
        )
        values = evaluation_metrics(result, episodes)
        self._folder.record_evaluation(
            self._step, self._label, config.eval.temperature, values, episodes, self._actor
        )

    async def _checkpoint(self) -> None:
        every = self._config.run.checkpoint_every
        is_last = self._step == self._config.train.num_steps
        if is_last or (every and self._step % every == 0):
            self._folder.checkpoint(self._step, await self._learner.state(), self._collector.state())
        if is_last:
            await self._learner.export(self._folder.path / MODEL)

    async def _restore(self) -> None:
        restored = self._folder.restore()
        if restored is not None:
            self._step = restored.step
            await self._learner.load_state(restored.learner)
            self._collector.restore(restored.collector)
            await self._weights.push()
