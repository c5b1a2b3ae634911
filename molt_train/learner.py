"""The learner: from graded episodes to new weights.

In: a step's graded episodes. Out: changed weights, a new policy version, metrics. With several processes
each is given all of them, and takes its part of the micro-batches.
Shapes: B rows, T padded length, N trained tokens of a micro-batch.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from molt_train.algorithms.correction import correction_weights
from molt_train.algorithms.kl import KL_ESTIMATORS, k3_rollout
from molt_train.algorithms.loss import LOSSES
from molt_train.config import Config
from molt_train.data.packing import (
    WIDTH_STEP,
    MicroBatch,
    Part,
    make_micro_batches,
    part_of_sequences,
)
from molt_train.data.samples import Sample, assign_advantages, mask_stale, select
from molt_train.model.gradients import clip_gradients, sum_partial_gradients
from molt_train.model.layout import partial_gradients, share_tied_shards
from molt_train.model.optimizer import build_adamw, learning_rate, set_learning_rate
from molt_train.model.ranks import ONE_PROCESS, Ranks
from molt_train.model.score import check_scores, free_gathered, score_tokens
from molt_train.model.ulysses import split_sequences
from molt_train.model.whole_state import (
    load_model_state,
    load_optimizer_state,
    model_state,
    optimizer_state,
)
from molt_train.rewards import Graded

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, eq=False)
class _Scored:
    """A micro-batch with what is constant during the step."""

    batch: MicroBatch
    old_logprobs_N: Tensor
    reference_logprobs_N: Tensor | None
    correction_N: Tensor


class Learner:
    """Holds the optimizer; `model` is shared with the rollout engine.

    Args:
        model: the actor, trained in place.
        config: the recipe; `algorithm`, `optimizer` and `train` are read.
        pad_id: id that fills rows; its value is never seen.
        ranks: this process's place among those that train the model together.
        reference: what KL terms are measured from, where the model cannot be copied.

    Raises:
        ValueError: the model's logits are not those of its output matrix.
    """

    def __init__(
        self, model: PreTrainedModel, config: Config, pad_id: int = 0, ranks: Ranks = ONE_PROCESS,
        reference: PreTrainedModel | None = None,
    ) -> None:  # fmt: skip
        self.model, self._config, self._pad_id, self._ranks = model, config, pad_id, ranks
        self._partial = partial_gradients(model.config) if ranks.num_tensor > 1 else ()
        optimizer = config.optimizer
        self.optimizer = build_adamw(
            model.parameters(), optimizer.lr, optimizer.betas, optimizer.eps, optimizer.weight_decay
        )
        check_scores(model)
        share_tied_shards(model)
        self.num_optimizer_steps = 0
        self.policy_version = 0
        self._reference = reference
        if config.algorithm.kl_coef > 0 and reference is None:
            self._reference = copy.deepcopy(model)
        for scorer in (model, self._reference):
            if scorer is not None and ranks.num_sequence > 1:
                split_sequences(scorer, ranks.sequence_group)
        if self._reference is not None:
            self._reference.requires_grad_(False)
        self._autocast = config.train.autocast == "bfloat16"

    def train_step(self, graded: Sequence[Graded]) -> dict[str, float]:
        """One training step: `train.num_minibatches` optimizer steps over the episodes, each seen once."""
        scored, num_excluded = select(graded)
        num_masked, most = 0, self._config.algorithm.mask_older_than
        if most is not None:
            scored, num_masked = mask_stale(scored, self.policy_version, most)
        samples = assign_advantages(scored, self._config.algorithm.advantage, self._config.algorithm.gamma)
        minibatches = [
            [self._score(batch) for batch in self._pack(part)]
            for part in split_by_episode(samples, self._config.train.num_minibatches)
        ]
        totals = _Totals(self._ranks)
        for minibatch in minibatches:
            self._optimizer_step(minibatch, totals)
        self.policy_version += 1
        return {
            "num_excluded": num_excluded,
            "num_masked_tokens": num_masked,
            "num_optimizer_steps": self.num_optimizer_steps,
            **totals.metrics(),
        }

    def state(self) -> dict[str, Any]:
        """What a checkpoint needs to go on exactly, with any number of processes; process 0 has it whole."""
        return {
            "model": model_state(self.model),
            "optimizer": optimizer_state(self.model, self.optimizer),
            "num_optimizer_steps": self.num_optimizer_steps,
            "policy_version": self.policy_version,
            "reference": None if self._reference is None else model_state(self._reference),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()`."""
        load_model_state(self.model, state["model"])
        free_gathered(self.model)
        load_optimizer_state(self.model, self.optimizer, state["optimizer"])
        self.num_optimizer_steps = int(state["num_optimizer_steps"])
        self.policy_version = int(state["policy_version"])
        if self._reference is not None:
            load_model_state(self._reference, state["reference"])

    def _pack(self, samples: Sequence[Sample]) -> list[MicroBatch]:
        algorithm, train, ranks = self._config.algorithm, self._config.train, self._ranks
        batches = make_micro_batches(
            samples,
            train.micro_batch_tokens,
            algorithm.aggregate,
            algorithm.norm_tokens,
            self._pad_id,
            WIDTH_STEP,
            Part(ranks.data_rank, ranks.num_data),
        )
        if ranks.num_sequence == 1:
            return batches
        return [part_of_sequences(batch, ranks.sequence_rank, ranks.num_sequence) for batch in batches]

    @torch.no_grad()
    def _score(self, batch: MicroBatch) -> _Scored:
        """Logprobs before the first update, those of the reference, and the correction's weights."""
        algorithm = self._config.algorithm
        old_N, _ = self._logprobs(self.model, batch)
        reference_N = None if self._reference is None else self._logprobs(self._reference, batch)[0]
        correction_N = correction_weights(
            old_N, batch.rollout_logprobs_N, batch.sequence_N, algorithm.correction,
            algorithm.correction_mode, algorithm.correction_low, algorithm.correction_high,
        )  # fmt: skip
        return _Scored(batch, old_N, reference_N, correction_N)

    def _optimizer_step(self, minibatch: Sequence[_Scored], totals: _Totals) -> None:
        config = self._config.optimizer
        self.optimizer.zero_grad(set_to_none=True)
        for scored in minibatch:
            self._accumulate(scored, totals)
        lr = learning_rate(
            self.num_optimizer_steps, config.lr, config.warmup_steps,
            self._config.train.num_steps * self._config.train.num_minibatches, config.schedule,
        )  # fmt: skip
        set_learning_rate(self.optimizer, lr)
        if self._partial:
            sum_partial_gradients(self.model, self._partial)
        norm = clip_gradients(self.model.parameters(), config.clip_norm or math.inf)
        totals.optimizer_step(norm, lr)
        if math.isfinite(norm):
            self.optimizer.step()
            free_gathered(self.model)
        self.num_optimizer_steps += 1

    def _accumulate(self, scored: _Scored, totals: _Totals) -> None:
        """Add a micro-batch's gradient: Σ weight · (correction · policy loss + KL term)."""
        algorithm, batch = self._config.algorithm, scored.batch
        logprobs_N, entropy_N = self._logprobs(self.model, batch)
        policy = LOSSES[algorithm.loss](
            logprobs_N, scored.old_logprobs_N, batch.advantages_N,
            algorithm.clip_low, algorithm.clip_high, algorithm.dual_clip,
        )  # fmt: skip
        policy_loss = (batch.weights_N * scored.correction_N * policy.loss_N).sum()
        loss = policy_loss
        if scored.reference_logprobs_N is not None:
            kl_N = KL_ESTIMATORS[algorithm.kl_kind](logprobs_N, scored.reference_logprobs_N)
            loss = loss + algorithm.kl_coef * (batch.weights_N * kl_N).sum()
            totals.add_kl(kl_N)
        (loss * self._ranks.num_batches).backward()  # gradients are averaged over the processes
        totals.add(scored, loss, policy_loss, policy.ratio_N, policy.clipped_N, entropy_N, logprobs_N)

    def _logprobs(self, model: PreTrainedModel, batch: MicroBatch) -> tuple[Tensor, Tensor]:
        return score_tokens(model, batch, self._config.rollout.temperature, self._autocast)


class _Totals:
    """Sums over a training step, for the metrics."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._sums: dict[str, float] = {}
        self._maxima: dict[str, float] = {"ratio_max": 0.0, "logprob_gap_max": 0.0}
        self._num_tokens = self._num_steps = self._num_skipped = self._num_kl = 0
        self._lr = 0.0

    def add(
        self, scored: _Scored, loss: Tensor, policy_loss: Tensor, ratio_N: Tensor, clipped_N: Tensor,
        entropy_N: Tensor, logprobs_N: Tensor,
    ) -> None:  # fmt: skip
        """Take one micro-batch's numbers."""
        gap_N = (scored.old_logprobs_N - scored.batch.rollout_logprobs_N).abs()
        drift_N = k3_rollout(logprobs_N.detach(), scored.old_logprobs_N)
        per_token = {
            "entropy": entropy_N, "clip_share": clipped_N.float(), "logprob_gap_mean": gap_N,
            "correction_weight_mean": scored.correction_N, "approx_kl": drift_N,
        }  # fmt: skip
        for name, values_N in per_token.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(values_N.sum())
        for name, value in (("loss", loss), ("policy_loss", policy_loss)):
            self._sums[name] = self._sums.get(name, 0.0) + float(value.detach())
        for name, values_N in (("ratio_max", ratio_N), ("logprob_gap_max", gap_N)):
            if len(values_N):
                self._maxima[name] = max(self._maxima[name], float(values_N.detach().max()))
        self._num_tokens += len(ratio_N)

    def add_kl(self, kl_N: Tensor) -> None:
        """Take one micro-batch's divergence to the reference."""
        self._sums["kl"] = self._sums.get("kl", 0.0) + float(kl_N.detach().sum())

    def optimizer_step(self, norm: float, lr: float) -> None:
        """Take one optimizer step's numbers."""
        self._num_steps += 1
        self._lr = lr
        if math.isfinite(norm):
            self._sums["grad_norm"] = self._sums.get("grad_norm", 0.0) + norm
        else:
            self._num_skipped += 1

    def metrics(self) -> dict[str, float]:
        """Means per token, losses and norms per optimizer step, over all processes."""
        sums = self._ranks.sums({**self._sums, "num_tokens": self._num_tokens})
        num_tokens = int(sums.pop("num_tokens"))
        if "grad_norm" in sums:
            sums["grad_norm"] = self._sums["grad_norm"]  # that of all processes, on each
        per_step = {"loss", "policy_loss", "grad_norm"}
        means = {
            name: total / max(1, self._num_steps if name in per_step else num_tokens)
            for name, total in sums.items()
        }
        return {
            **means, **self._ranks.maxima(self._maxima), "lr": self._lr,
            "num_trained_tokens": num_tokens, "num_skipped_updates": self._num_skipped,
        }  # fmt: skip


def split_by_episode(samples: Sequence[Sample], num_parts: int) -> list[list[Sample]]:
    """Parts of whole episodes, dealt in turn so that each part has episodes of every group; none is empty."""
    episodes = sorted({sample.episode for sample in samples})
    part_of = {episode: place % num_parts for place, episode in enumerate(episodes)}
    parts = [[sample for sample in samples if part_of[sample.episode] == part] for part in range(num_parts)]
    return [part for part in parts if part]
