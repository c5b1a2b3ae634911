"""Micro-batches hold the samples' tokens, shifted by one exactly once, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from molt_train.data.packing import Part, cut, make_micro_batches, part_of_sequences
from molt_train.data.samples import Sample, assign_advantages, select
from tests.molt_train.episodes import make_segment, random_batch


def sample(
    prompt: list[int], *turns: tuple[list[int], list[int]], episode: int = 0, group: int = 0
) -> Sample:
    segment = make_segment(prompt, turns, logprob=-0.5)
    return Sample(segment, np.arange(len(segment.token_ids)) / 4, episode, group)


def test_a_batch_written_out() -> None:
    short = sample([9, 8], ([7], []), episode=4, group=1)
    long = sample([1, 2, 3], ([4, 5], [6]), ([7, 8], []), episode=5, group=2)
    (batch,) = make_micro_batches([short, long], 16, "seq_mean_token_sum", pad_id=50)
    assert batch.token_ids_BT.tolist() == [[1, 2, 3, 4, 5, 6, 7, 8], [9, 8, 7, 50, 50, 50, 50, 50]]
    assert batch.predictor_N.tolist() == [2, 3, 5, 6, 9]
    assert batch.targets_N.tolist() == [4, 5, 7, 8, 7]
    assert batch.advantages_N.tolist() == [0.75, 1.0, 1.5, 1.75, 0.5]
    assert batch.rollout_logprobs_N.tolist() == [-0.5] * 5
    assert batch.weights_N.tolist() == [0.5] * 5
    assert batch.sequence_N.tolist() == [1, 1, 1, 1, 0]
    assert batch.num_tokens == 11


@pytest.mark.parametrize("budget", [33, 48, 90, 10_000])
def test_every_trained_token_is_in_one_batch_within_the_budget(budget: int) -> None:
    samples = assign_advantages(select(random_batch(2))[0], "grpo")
    batches = make_micro_batches(samples, budget)
    assert max(batch.token_ids_BT.numel() for batch in batches) <= budget
    assert sum(batch.num_tokens for batch in batches) == sum(len(s.segment.token_ids) for s in samples)
    trained = sorted(token for batch in batches for token in batch.targets_N.tolist())
    expected = sorted(t for s in samples for t in s.segment.token_ids[s.segment.loss_mask].tolist())
    assert trained == expected
    assert sum(float(batch.weights_N.sum()) for batch in batches) == pytest.approx(1.0)


def test_the_predictor_is_the_position_before_the_target() -> None:
    for batch in make_micro_batches(assign_advantages(select(random_batch(3))[0], "rloo"), 60):
        flat = batch.token_ids_BT.flatten()
        assert torch.equal(flat[batch.predictor_N + 1], batch.targets_N)


def test_a_sample_without_trained_tokens_is_left_out_and_changes_no_weight() -> None:
    one = sample([1, 2], ([3, 4], []), episode=0)
    none = sample([1, 2], ([3, 4, 5], []), episode=1)
    mute = replace(none, segment=replace(none.segment, loss_mask=np.zeros(5, dtype=np.bool_)))
    (batch,) = make_micro_batches([one, mute], 64, "seq_mean_token_sum")
    assert batch.token_ids_BT.tolist() == [[1, 2, 3, 4]]
    assert batch.weights_N.tolist() == [1.0, 1.0]
    assert make_micro_batches([mute], 64) == []


def test_a_segment_longer_than_the_budget_is_named() -> None:
    with pytest.raises(ValueError, match=r"5 tokens \(episode 7 .*micro_batch_tokens = 4"):
        make_micro_batches([sample([1, 2, 3], ([4, 5], []), episode=7)], 4)


def test_nothing_outside_the_loss_mask_is_read() -> None:
    one = sample([1, 2], ([3, 4], [5]), ([6], []))
    poisoned = replace(one, advantages_T=np.where(one.segment.loss_mask, one.advantages_T, np.nan))
    for left, right in zip(make_micro_batches([one], 64), make_micro_batches([poisoned], 64), strict=True):
        assert torch.equal(left.advantages_N, right.advantages_N)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_the_parts_of_several_processes_are_the_whole_and_equally_many(count: int) -> None:
    samples = assign_advantages(select(random_batch(2))[0], "grpo")
    parts = [make_micro_batches(samples, 48, part=Part(number, count)) for number in range(count)]
    assert len({len(part) for part in parts}) == 1
    dealt = [batch for part in parts for batch in part]
    (whole,) = make_micro_batches(samples, 100_000)
    for name in ("targets_N", "weights_N", "advantages_N", "sequence_N"):
        values = torch.cat([vars(batch)[name] for batch in dealt]).sort().values
        assert torch.equal(values, vars(whole)[name].sort().values)
    assert max(batch.token_ids_BT.numel() for batch in dealt) <= 48


def test_pieces_of_neighbours_are_about_equally_full() -> None:
    lengths = sorted((int(length) for length in np.random.default_rng(0).lognormal(5, 1, 400)), reverse=True)
    pieces = cut(lengths, 4096, 1, count=4)
    assert len(pieces) % 4 == 0 and pieces[0].first == 0 and pieces[-1].end == len(lengths)
    assert all(left.end == right.first for left, right in pairwise(pieces))
    sizes = np.array([(piece.end - piece.first) * piece.width for piece in pieces]).reshape(-1, 4)
    assert sizes.max() <= 4096
    waiting = 1 - sizes.mean() / sizes.max(1).mean()
    naive = [(piece.end - piece.first) * piece.width for piece in cut(lengths, 4096, 1)]
    full = np.array(naive + [0] * (-len(naive) % 4)).reshape(-1, 4)
    assert waiting < 0.08 < 1 - full.mean() / full.max(1).mean()


def test_parts_of_sequences_hold_each_token_where_its_predictor_is() -> None:
    samples = assign_advantages(select(random_batch(3))[0], "rloo")
    (batch,) = make_micro_batches(samples, 100_000, width_step=4)
    halves = [part_of_sequences(batch, number, 2) for number in range(2)]
    assert torch.equal(torch.cat([half.token_ids_BT for half in halves], 1), batch.token_ids_BT)
    assert [half.first_position for half in halves] == [0, batch.token_ids_BT.shape[1] // 2]
    pairs: list[tuple[int, int]] = []
    for half in halves:
        pairs += zip(
            half.token_ids_BT.flatten()[half.predictor_N].tolist(), half.targets_N.tolist(), strict=True
        )
    before = batch.token_ids_BT.flatten()[batch.predictor_N].tolist()
    assert sorted(pairs) == sorted(zip(before, batch.targets_N.tolist(), strict=True))
