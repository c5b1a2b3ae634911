"""The learner: one gradient whatever the split, equal to a plain loop; steps, clipping, state."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from molt_train.algorithms.aggregate import AGGREGATIONS
from molt_train.config import Config
from molt_train.data.samples import assign_advantages, select
from molt_train.learner import Learner, split_by_episode
from molt_train.rewards import Graded
from tests.molt_train.algorithms import slow
from tests.molt_train.episodes import make_episode, make_segment, random_batch
from tests.molt_train.rollout.tiny_models import tiny_model

Gradients = dict[str, torch.Tensor]


def config(
    algorithm: dict[str, Any] | None = None,
    train: dict[str, Any] | None = None,
    optimizer: dict[str, Any] | None = None,
    temperature: float = 1.0,
) -> Config:
    return Config.model_validate(
        {
            "algorithm": algorithm or {},
            "train": {"micro_batch_tokens": 100_000, **(train or {})},
            "optimizer": {"clip_norm": "off", "lr": 1e-3, **(optimizer or {})},
            "rollout": {"temperature": temperature, "max_context_tokens": 16, "max_turn_tokens": 8},
            "model": {"path": "tiny"},
            "env": {"id": "molt-tests/Toy-v0"},
        }
    )


def gradients(settings: Config, graded: list[Graded], seed: int = 0) -> tuple[Gradients, dict[str, float]]:
    """The gradient of one training step of a fresh model, left in place by the optimizer step."""
    model = tiny_model(seed=seed)
    metrics = Learner(model, settings).train_step(graded)
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}, metrics


def largest_gap(left: Gradients, right: Gradients) -> float:
    """Largest difference of an entry, as a share of the largest entry where that is above 1."""
    assert left.keys() == right.keys() and len(left) > 10
    size = max(1.0, *(float(gradient.abs().max()) for gradient in right.values()))
    return max(float((left[name] - right[name]).abs().max()) for name in left) / size


def slow_gradients(settings: Config, graded: list[Graded], aggregate: str) -> Gradients:
    """Each segment alone under transformers' own logits, losses aggregated by a plain loop."""
    model = tiny_model()
    rows: dict[int, list[torch.Tensor]] = {}
    prompts: dict[int, int] = {}
    samples = assign_advantages(select(graded)[0], settings.algorithm.advantage)
    for sample in samples:
        ids = torch.tensor(sample.segment.token_ids.tolist())
        logits = model(input_ids=ids[None]).logits[0, :-1] / settings.rollout.temperature
        logprobs = torch.log_softmax(logits, -1).gather(1, ids[1:, None])[:, 0]
        for k in np.flatnonzero(sample.segment.loss_mask):
            old = logprobs[k - 1].detach()
            weight = float((old - float(sample.segment.logprobs[k])).exp().clamp(max=2.0))
            ratio = (logprobs[k - 1] - old).exp()
            rows.setdefault(sample.episode, []).append(-weight * ratio * float(sample.advantages_T[k]))
        prompts[sample.episode] = sample.group
    losses = list(rows.values())
    slow_loss = slow_sum(aggregate, losses, [prompts[episode] for episode in rows], settings)
    slow_loss.backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def slow_sum(kind: str, rows: list[list[torch.Tensor]], prompts: list[int], settings: Config) -> torch.Tensor:
    """Derivatives of a linear aggregation: its value at unit losses, token by token."""
    total = torch.zeros(())
    for i, row in enumerate(rows):
        for j, loss in enumerate(row):
            unit = [[float((i, j) == (a, b)) for b in range(len(r))] for a, r in enumerate(rows)]
            total = total + slow.aggregate(kind, unit, prompts, settings.algorithm.norm_tokens) * loss
    return total


@pytest.mark.parametrize("aggregate", AGGREGATIONS)
def test_the_gradient_is_that_of_a_plain_loop_for_every_split(aggregate: str) -> None:
    graded = random_batch(seed=1)
    longest = max(len(s.token_ids) for item in graded for s in item.episode.segments)
    algorithm = {"aggregate": aggregate, "norm_tokens": 16}
    whole, metrics = gradients(config(algorithm, temperature=0.7), graded)
    expected = slow_gradients(config(algorithm, temperature=0.7), graded, aggregate)
    assert largest_gap(whole, expected) < 2e-6
    for budget in (longest, longest + 7, 2 * longest, 150):
        parts, split_metrics = gradients(
            config(algorithm, {"micro_batch_tokens": budget}, temperature=0.7), graded
        )
        assert largest_gap(whole, parts) < 1e-6
        assert split_metrics["loss"] == pytest.approx(metrics["loss"], abs=1e-6)
        assert split_metrics["num_trained_tokens"] == metrics["num_trained_tokens"]


@pytest.mark.parametrize("level", ["none", "seq", "geo"])
def test_other_corrections_and_kl_do_not_see_the_split_either(level: str) -> None:
    graded = random_batch(seed=2)
    algorithm = {
        "correction": level,
        "kl_coef": 0.1,
        "advantage": "reinforce",
        "gamma": 0.9,
        "dual_clip": 3.0,
    }
    whole, _ = gradients(config(algorithm), graded)
    parts, _ = gradients(config(algorithm, {"micro_batch_tokens": 50}), graded)
    assert largest_gap(whole, parts) < 1e-6


def test_the_order_of_groups_changes_nothing() -> None:
    graded = random_batch(seed=3)
    whole, _ = gradients(config(), graded)
    assert largest_gap(whole, gradients(config(), graded[::-1])[0]) < 1e-6


def with_last_observation(graded: list[Graded], token_id: int) -> list[Graded]:
    """The same episodes; what follows the last action of each segment is `token_id`."""
    changed: list[Graded] = []
    for item in graded:
        segments = []
        for segment in item.episode.segments:
            ids = segment.token_ids.copy()
            ids[segment.action_ranges[-1][1] :] = token_id
            segments.append(replace(segment, token_ids=ids))
        changed.append(replace(item, episode=replace(item.episode, segments=tuple(segments))))
    return changed


def test_targets_of_observations_leave_the_gradient_unchanged() -> None:
    graded = random_batch(seed=4)
    whole, _ = gradients(config(), with_last_observation(graded, 3))
    assert largest_gap(whole, gradients(config(), with_last_observation(graded, 77))[0]) == 0


def test_sampled_tokens_outside_the_loss_mask_have_no_effect() -> None:
    """Their ratio would overflow: multiplied by a mask it would be nan, selected away it is nothing."""

    def batch(logprob: float) -> list[Graded]:
        segment = make_segment([5], [([6, 7], [8]), ([9], [])])
        logprobs, mask = segment.logprobs.copy(), segment.loss_mask.copy()
        logprobs[4], mask[4] = logprob, False
        muted = replace(segment, logprobs=logprobs, loss_mask=mask)
        return [Graded(make_episode([muted]), 1.0), Graded(make_episode([segment]), 0.0)]

    whole, _ = gradients(config(), batch(-2.0))
    found, metrics = gradients(config(), batch(-1e38))
    assert largest_gap(whole, found) == 0
    assert all(np.isfinite(value) for value in metrics.values())


def test_a_step_raises_what_was_rewarded() -> None:
    good, bad = (make_episode([make_segment([5, 6], [([token, 9], [])])]) for token in (7, 8))
    model = tiny_model()
    learner = Learner(model, config({"correction": "none"}, optimizer={"lr": 5e-3}))
    before = first_logprobs(model)
    metrics = learner.train_step([Graded(good, 1.0), Graded(bad, 0.0)])
    after = first_logprobs(model)
    assert after[7] > before[7] and after[8] < before[8]
    assert (learner.policy_version, learner.num_optimizer_steps) == (1, 1)
    assert metrics["ratio_max"] == pytest.approx(1.0) and metrics["clip_share"] == 0


def first_logprobs(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return torch.log_softmax(model(input_ids=torch.tensor([[5, 6]])).logits[0, -1], -1)


def test_learning_rate_zero_changes_no_bit() -> None:
    model = tiny_model()
    before = copy.deepcopy(model.state_dict())
    Learner(model, config(optimizer={"lr": 0.0, "weight_decay": 0.1})).train_step(random_batch())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_the_gradient_is_clipped_to_its_norm() -> None:
    graded = random_batch(seed=6)
    whole, metrics = gradients(config(), graded)
    norm = float(torch.sqrt(sum((g**2).sum() for g in whole.values())))
    assert metrics["grad_norm"] == pytest.approx(norm, rel=1e-5)
    clipped, _ = gradients(config(optimizer={"clip_norm": 0.25}), graded)
    scaled = {name: gradient * (0.25 / norm) for name, gradient in whole.items()}
    assert norm > 0.25 and largest_gap(clipped, scaled) < 1e-6


def test_an_infinite_gradient_is_skipped_and_counted() -> None:
    model = tiny_model()
    learner = Learner(model, config())
    with torch.no_grad():
        model.get_output_embeddings().weight[0, 0] = torch.inf
    before = copy.deepcopy(model.state_dict())
    metrics = learner.train_step(random_batch())
    assert metrics["num_skipped_updates"] == 1
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_minibatches_are_whole_episodes_and_use_old_logprobs_of_the_start() -> None:
    graded = random_batch(seed=7)
    samples = assign_advantages(select(graded)[0], "grpo")
    parts = split_by_episode(samples, 4)
    owners = [{sample.episode for sample in part} for part in parts]
    assert sum(map(len, owners)) == len(set.union(*owners)) == 9
    assert sum(map(len, parts)) == len(samples)
    learner = Learner(tiny_model(), config(train={"num_minibatches": 4}, optimizer={"lr": 1e-2}))
    metrics = learner.train_step(graded)
    assert learner.num_optimizer_steps == 4 and learner.policy_version == 1
    assert metrics["ratio_max"] > 1.001  # later parts are off the policy that sampled


def test_nothing_to_train_on_makes_no_step() -> None:
    learner = Learner(tiny_model(), config())
    unscored = [replace(item, reward=None) for item in random_batch()]
    metrics = learner.train_step(unscored)
    assert metrics["num_excluded"] == 9 and learner.num_optimizer_steps == 0


def test_a_restored_learner_goes_on_bit_for_bit() -> None:
    settings = config({"kl_coef": 0.1}, optimizer={"schedule": "linear", "warmup_steps": 2})
    learner = Learner(tiny_model(), settings)
    learner.train_step(random_batch(1))
    state = copy.deepcopy(learner.state())
    expected = learner.train_step(random_batch(2))
    other = Learner(tiny_model(seed=9), settings)
    other.load_state(state)
    assert other.train_step(random_batch(2)) == expected
    pairs = zip(learner.model.state_dict().values(), other.model.state_dict().values(), strict=True)
    assert all(torch.equal(left, right) for left, right in pairs)


def test_the_reference_is_the_model_of_the_start() -> None:
    learner = Learner(tiny_model(), config({"kl_coef": 0.1}, optimizer={"lr": 1e-2}))
    assert learner.train_step(random_batch(1))["kl"] == pytest.approx(0.0, abs=1e-6)
    assert learner.train_step(random_batch(1))["kl"] > 1e-4
