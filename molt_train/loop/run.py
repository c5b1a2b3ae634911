"""The training loop: sample, grade, update, evaluate, record; step after step.

In: a configuration. Out: a run folder with metrics, evaluations, checkpoints, sample episodes and a report.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import torch

from molt_envs import Episode
from molt_train.config import Config
from molt_train.data.tasks import SamplerState, TaskSampler, evaluation_tasks
from molt_train.learner import Learner
from molt_train.loop.actor import Actor, build_actor, build_engine, rollout_sampling
from molt_train.loop.environments import open_environments
from molt_train.loop.evaluate import evaluate
from molt_train.loop.folder import RunFolder
from molt_train.loop.rollouts import group_requests, informative_groups, penalise_length, shuffle_rewards
from molt_train.loop.statistics import evaluation_metrics, rollout_metrics
from molt_train.monitor.progress import Progress
from molt_train.rewards import Graded, grade, load_reward
from molt_train.rollout.runner import RolloutRunner

MAX_UNRESOLVED_SHARE = 0.5
"""A step in which more episodes than this are unresolved stops the run: something of ours is broken."""

MAX_REFILLS = 10
"""Rounds of dynamic sampling in one step; then the step trains on the groups that it has."""


class TooManyUnresolved(ValueError):
    """The environment, the grader or the engine fails too often for training to mean anything."""


def train(config: Config, progress: Progress) -> Path:
    """Run the recipe; gives the run's folder.

    Raises:
        ValueError: the configuration asks for something that does not exist.
        TooManyUnresolved: see `MAX_UNRESOLVED_SHARE`; the run's folder is kept and can be resumed.
    """
    return asyncio.run(_with_loop(config, progress, config.rollout.num_slots, TrainingLoop.run))


def evaluate_policy(config: Config, progress: Progress) -> Path:
    """Judge the model on the held-out tasks without training; gives the folder `run.dir`."""
    return asyncio.run(_with_loop(config, progress, config.eval.num_slots, TrainingLoop.evaluate))


async def _with_loop(
    config: Config, progress: Progress, num_slots: int, part: Callable[[TrainingLoop], Awaitable[None]]
) -> Path:
    torch.manual_seed(config.train.seed)
    load_reward(config.rollout.reward)
    actor = build_actor(config)
    engine = build_engine(config, actor, num_slots)
    with (
        RunFolder(config, progress) as folder,
        contextlib.closing(engine),
        open_environments(config, actor, num_slots) as envs,
        RolloutRunner(
            engine, envs.make_env, num_slots, envs.timeout_s, envs.num_threads, config.rollout.num_retries
        ) as runner,
    ):
        await part(TrainingLoop(config, actor, Learner(actor.model, config), runner, folder, progress))
    return folder.path


class TrainingLoop:
    """What one step needs, held together; `run` is the list of steps."""

    def __init__(
        self,
        config: Config,
        actor: Actor,
        learner: Learner,
        runner: RolloutRunner,
        folder: RunFolder,
        progress: Progress,
    ) -> None:
        self._label = "rl"
        self._config, self._actor, self._learner = config, actor, learner
        self._runner, self._folder, self._progress = runner, folder, progress
        self._reward = load_reward(config.rollout.reward)
        split = config.rollout.split
        self._sampler = TaskSampler(split, actor.card.splits.get(split, 0), config.train.seed)
        self._step = 0

    async def run(self) -> None:
        """All steps, with evaluations where they are due."""
        self._restore()
        total = self._config.train.num_steps
        self._progress.begin("training", total, self._step)
        if self._step == 0:
            await self.evaluate()
        while self._step < total:
            await self._train_step()
            every = self._config.eval.every_steps
            if self._step == total or (every and self._step % every == 0):
                await self.evaluate()
            self._checkpoint()

    async def _train_step(self) -> None:
        start, num_retried = time.monotonic(), self._runner.num_retried
        graded, num_dropped = await self._sample()
        sampled = time.monotonic()
        self._progress.phase("update")
        if self._config.train.shuffle_rewards:
            graded = shuffle_rewards(graded, self._config.train.seed, self._step)
        values = rollout_metrics(graded, self._learner.policy_version)
        values["num_groups_dropped"] = num_dropped
        values["num_retried"] = self._runner.num_retried - num_retried
        values |= self._learner.train_step(graded)
        self._runner.engine.weights_updated(self._learner.policy_version)
        end = time.monotonic()
        self._step += 1
        values |= self._folder.timings(start, sampled, end, values)
        self._folder.record(self._step, values)

    async def _sample(self) -> tuple[list[Graded], int]:
        """Graded episodes of `rollout.num_tasks` groups, and how many groups dynamic sampling dropped on
        the way."""
        config, algorithm = self._config, self._config.algorithm
        kept: list[Graded] = []
        num_dropped = num_groups = place = 0
        for _ in range(MAX_REFILLS if algorithm.dynamic_sampling else 1):
            task_ids = self._sampler.next(config.rollout.num_tasks - num_groups)
            graded = await self._play(task_ids, place)
            place += len(task_ids)
            if not algorithm.dynamic_sampling:
                return graded, 0
            informative, dropped = informative_groups(graded, algorithm.dynamic_low, algorithm.dynamic_high)
            kept += informative
            num_dropped += dropped
            num_groups += len(task_ids) - dropped
            if num_groups == config.rollout.num_tasks:
                break
        return kept, num_dropped

    async def _play(self, task_ids: Sequence[str], first_place: int) -> list[Graded]:
        """Groups of episodes of these tasks, graded."""
        config = self._config
        requests = group_requests(config, task_ids, self._step, first_place)
        self._progress.phase("rollout", len(requests))
        sampling = rollout_sampling(config, self._actor, config.rollout.temperature)
        episodes = await self._runner.run(requests, sampling, lambda _: self._progress.advance())
        graded = penalise_length(grade(episodes, self._reward), config)
        _check_resolved([item.episode for item in graded])
        return graded

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

    def _checkpoint(self) -> None:
        every = self._config.run.checkpoint_every
        if self._step == self._config.train.num_steps or (every and self._step % every == 0):
            state = self._sampler.state
            self._folder.checkpoint(
                self._step, self._learner, {"epoch": state.epoch, "position": state.position}
            )
        if self._step == self._config.train.num_steps:
            self._folder.export(self._actor)

    def _restore(self) -> None:
        restored = self._folder.restore(self._learner)
        if restored is not None:
            self._step = restored.step
            self._sampler.state = SamplerState(restored.epoch, restored.position)
            self._runner.engine.weights_updated(self._learner.policy_version)


def _check_resolved(episodes: list[Episode]) -> None:
    unresolved = [episode for episode in episodes if episode.outcome == "unresolved"]
    if len(unresolved) > MAX_UNRESOLVED_SHARE * len(episodes):
        reasons = sorted({episode.reason for episode in unresolved})[:3]
        raise TooManyUnresolved(
            f"{len(unresolved)} of {len(episodes)} episodes are unresolved; the first reasons: "
            + " | ".join(reasons)
        )
