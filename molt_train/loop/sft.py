"""Supervised fine-tuning on an oracle's episodes: the same ids, masks and micro-batches as reinforcement
learning.

In: a configuration. Out: `run.dir/sft/` with metrics and the warmed-up model in `model/`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from molt_envs import Episode
from molt_train.config import Config
from molt_train.data.packing import WIDTH_STEP, make_micro_batches
from molt_train.data.samples import Sample, demonstration_samples, language_samples
from molt_train.data.tasks import TaskSampler, derive_seed
from molt_train.demonstrations import demonstrate
from molt_train.loop.actor import Actor, build_actor, load_policy
from molt_train.model.export import export_model
from molt_train.model.optimizer import build_adamw, learning_rate, set_learning_rate
from molt_train.model.score import check_scores, score_tokens
from molt_train.monitor.progress import Progress
from molt_train.monitor.run_data import SFT_FOLDER
from molt_train.monitor.writer import MetricsWriter

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_REPORT_EVERY = 10


def train_sft(config: Config, progress: Progress) -> Path:
    """Demonstrate, then learn from it; gives the folder `run.dir/sft`.

    Raises:
        ValueError: the environment has no oracle, or every demonstration is longer than the context.
    """
    folder = Path(config.run.dir) / SFT_FOLDER
    torch.manual_seed(config.sft.seed)
    actor, model = build_actor(config), load_policy(config)
    with MetricsWriter(folder) as writer:
        episodes = demonstrations(config, actor, progress)
        fit(config, model, episodes, progress, writer)
    export_model(model, actor.tokenizer, folder / "model")
    return folder


def continue_sft(
    config: Config, progress: Progress, time_limit_s: float, order_seed: int
) -> tuple[Path, int]:
    """Learn on from the same demonstrations for a given time: what a fair comparison needs.

    Args:
        config: `model.path` is the warmed-up model; `sft.seed` is that of its warm-up, so the
        demonstrations are too. progress: shows what goes on.
        time_limit_s: seconds of learning, demonstrations not counted.
        order_seed: seeds the order in which the episodes come.

    Returns:
        The folder of the model, and the optimizer steps done.
    """
    folder = Path(config.run.dir) / SFT_FOLDER
    actor, model = build_actor(config), load_policy(config)
    episodes = demonstrations(config, actor, progress)
    with MetricsWriter(folder) as writer:
        num_steps = fit(config, model, episodes, progress, writer, time_limit_s, order_seed)
    return export_model(model, actor.tokenizer, folder / "model"), num_steps


def demonstrations(config: Config, actor: Actor, progress: Progress) -> list[Episode]:
    """The oracle's episodes on the split's tasks."""
    section = config.sft
    sampler = TaskSampler(section.split, actor.card.splits.get(section.split, 0), section.seed)
    task_ids = sampler.next(section.num_episodes)
    progress.phase("demonstrations", len(task_ids))
    env = actor.make_env()
    try:
        episodes = list(
            demonstrate(
                env, config.env.id, task_ids, section.seed, section.noise,
                config.rollout.max_context_tokens, lambda _: progress.advance(),
            )
        )  # fmt: skip
    finally:
        env.close()
    if not episodes:
        raise ValueError(
            f"all {len(task_ids)} demonstrations are longer than rollout.max_context_tokens = "
            f"{config.rollout.max_context_tokens}; raise it"
        )
    return episodes


def fit(
    config: Config, model: PreTrainedModel, episodes: Sequence[Episode], progress: Progress,
    writer: MetricsWriter, time_limit_s: float = math.inf, order_seed: int | None = None,
) -> int:  # fmt: skip
    """Learn from the episodes for `sft.num_steps` optimizer steps, or until the time is up; gives the
    steps done."""
    section, betas, eps = config.sft, config.optimizer.betas, config.optimizer.eps
    check_scores(model)
    optimizer = build_adamw(model.parameters(), section.lr, betas, eps, section.weight_decay)
    progress.begin("supervised warm-up", section.num_steps)
    start = time.monotonic()
    for step in range(section.num_steps):
        if time.monotonic() - start > time_limit_s:
            return step
        begun = time.monotonic()
        lr = learning_rate(step, section.lr, section.warmup_steps, section.num_steps, section.schedule)
        set_learning_rate(optimizer, lr)
        chosen = _batch(
            episodes, section.batch_episodes, section.seed if order_seed is None else order_seed, step
        )
        if step < section.language_steps:
            samples = language_samples(
                chosen, section.language_share, derive_seed(section.seed, "language", step)
            )
        else:
            samples = demonstration_samples(chosen)
        loss, norm, num_tokens = _step(config, model, optimizer, samples)
        if (step + 1) % _REPORT_EVERY == 0 or step + 1 == section.num_steps:
            seconds = max(time.monotonic() - begun, 1e-9)
            values = {
                "sft_loss": loss, "grad_norm": norm, "lr": lr,
                "sft_epoch": (step + 1) * section.batch_episodes / len(episodes),
                "tokens_per_s": num_tokens / seconds, "step_s": seconds,
            }  # fmt: skip
            writer.write(step + 1, values)
            progress.step(step + 1, values)
    return section.num_steps


def _step(
    config: Config, model: PreTrainedModel, optimizer: torch.optim.Optimizer, samples: Sequence[Sample]
) -> tuple[float, float, int]:
    """One optimizer step; gives its loss, gradient norm and number of tokens."""
    section = config.sft
    optimizer.zero_grad(set_to_none=True)
    total, num_tokens = 0.0, 0
    for batch in make_micro_batches(samples, section.micro_batch_tokens, width_step=WIDTH_STEP):
        logprobs_N, _ = score_tokens(model, batch, 1.0, section.autocast == "bfloat16")
        loss = -(batch.weights_N * logprobs_N).sum()
        loss.backward()
        total += float(loss.detach())
        num_tokens += batch.num_tokens
    norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), section.clip_norm or math.inf))
    if math.isfinite(norm):
        optimizer.step()
    return total, norm, num_tokens


def _batch(episodes: Sequence[Episode], count: int, seed: int, step: int) -> list[Episode]:
    """Batch `step` of endless shuffled passes over the episodes."""
    places = range(step * count, (step + 1) * count)
    orders = {
        epoch: np.random.default_rng([seed, epoch]).permutation(len(episodes))
        for epoch in {place // len(episodes) for place in places}
    }
    return [episodes[orders[place // len(episodes)][place % len(episodes)]] for place in places]
