"""The training loop: sample, grade, update, evaluate, record; step after step.

In: a configuration. Out: a run folder with metrics, evaluations, checkpoints, sample episodes and a report.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import torch

from molt_envs import Episode
from molt_train.config import Config
from molt_train.data.tasks import SamplerState, TaskSampler, evaluation_tasks
from molt_train.learner import Learner
from molt_train.loop.actor import Actor, build_actor, build_engine, rollout_sampling
from molt_train.loop.evaluate import evaluate
from molt_train.loop.folder import RunFolder
from molt_train.loop.rollouts import group_requests, shuffle_rewards
from molt_train.loop.statistics import evaluation_metrics, rollout_metrics
from molt_train.monitor.progress import Progress
from molt_train.rewards import Graded, grade, load_reward
from molt_train.rollout.runner import RolloutRunner

MAX_UNRESOLVED_SHARE = 0.5
"""A step in which more episodes than this are unresolved stops the run: something of ours is broken."""


class TooManyUnresolved(RuntimeError):
    """The environment, the grader or the engine fails too often for training to mean anything."""


def train(config: Config, progress: Progress) -> Path:
    """Run the recipe; gives the run's folder.

    Raises:
        ValueError: the configuration asks for something that does not exist.
        TooManyUnresolved: see `MAX_UNRESOLVED_SHARE`; the run's folder is kept and can be resumed.
    """
    return asyncio.run(_train(config, progress))


async def _train(config: Config, progress: Progress) -> Path:
    torch.manual_seed(config.train.seed)
    actor = build_actor(config)
    learner = Learner(actor.model, config, pad_id=0)
    load_reward(config.rollout.reward)
    with RunFolder(config, progress) as folder, RolloutRunner(
        build_engine(config, actor, config.rollout.num_slots),
        actor.make_env,
        config.rollout.num_slots,
        config.rollout.timeout_s,
    ) as runner:
        loop = _Loop(config, actor, learner, runner, folder, progress)
        await loop.run()
    return folder.path


class _Loop:
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
            await self._evaluate()
        while self._step < total:
            await self._train_step()
            every = self._config.eval.every_steps
            if self._step == total or (every and self._step % every == 0):
                await self._evaluate()
            self._checkpoint()

    async def _train_step(self) -> None:
        start = time.monotonic()
        graded = await self._sample()
        sampled = time.monotonic()
        if self._config.train.shuffle_rewards:
            graded = shuffle_rewards(graded, self._config.train.seed, self._step)
        values = rollout_metrics(graded, self._learner.policy_version)
        values |= self._learner.train_step(graded)
        self._runner.engine.weights_updated(self._learner.policy_version)
        end = time.monotonic()
        self._step += 1
        values |= self._folder.timings(start, sampled, end, values)
        self._folder.record(self._step, values)

    async def _sample(self) -> list[Graded]:
        config = self._config
        requests = group_requests(config, self._sampler.next(config.rollout.num_tasks), self._step)
        self._progress.phase("rollout", len(requests))
        sampling = rollout_sampling(config, self._actor, config.rollout.temperature)
        episodes = await self._runner.run(requests, sampling, lambda _: self._progress.advance())
        self._progress.phase("update")
        graded = grade(episodes, self._reward)
        _check_resolved([item.episode for item in graded])
        return graded

    async def _evaluate(self) -> None:
        config = self._config
        splits = [(split, self._actor.card.splits.get(split, 0)) for split in config.eval.splits]
        task_ids = evaluation_tasks(splits, config.eval.num_tasks)
        self._progress.phase("evaluation", len(task_ids))
        sampling = rollout_sampling(config, self._actor, config.eval.temperature)
        result, episodes = await evaluate(
            self._runner, config.env.id, task_ids, sampling, config.eval.seed, lambda _: self._progress.advance()
        )
        values = evaluation_metrics(result, episodes)
        self._folder.record_evaluation(
            self._step, self._label, config.eval.temperature, values, episodes, self._actor
        )

    def _checkpoint(self) -> None:
        every = self._config.run.checkpoint_every
        if self._step == self._config.train.num_steps or (every and self._step % every == 0):
            state = self._sampler.state
            self._folder.checkpoint(self._step, self._learner, {"epoch": state.epoch, "position": state.position})
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
            f"{len(unresolved)} of {len(episodes)} episodes are unresolved; the first reasons: " + " | ".join(reasons)
        )
