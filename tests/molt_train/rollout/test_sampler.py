"""Sampling follows the distribution, its logprobs are of it, and noise is a function of seed and index."""

from __future__ import annotations

import math

import pytest
import torch

from molt_train.rollout.sampler import ban, sample
from molt_train.rollout.turn import Noise, common_prefix

NOISE_OF_SEED_5 = [0.206986, 0.733746, 0.876468]
LOGITS = torch.tensor([[0.0, math.log(2.0), math.log(5.0), -torch.inf]])


@pytest.mark.parametrize(
    ("uniform", "token_id"), [(0.0, 0), (0.124, 0), (0.126, 1), (0.374, 1), (0.376, 2), (1 - 2**-32, 2)]
)
def test_literal_values_at_temperature_1(uniform: float, token_id: int) -> None:
    ids, logprobs = sample(LOGITS, [1.0], [uniform])
    assert ids.tolist() == [token_id]
    assert logprobs.item() == pytest.approx(math.log([1, 2, 5][token_id] / 8), abs=1e-6)


def test_logprobs_are_of_the_scaled_distribution() -> None:
    _, logprobs = sample(LOGITS, [0.5], [0.99])
    assert logprobs.item() == pytest.approx(math.log(25 / 30), abs=1e-6)


def test_greedy_reports_the_logprob_at_temperature_1() -> None:
    ids, logprobs = sample(LOGITS.expand(2, 4), [0.0, 1.0], [0.0, 0.0])
    assert ids.tolist() == [2, 0]
    assert logprobs[0].item() == pytest.approx(math.log(5 / 8), abs=1e-6)


@pytest.mark.parametrize("num_ids", [5, 64, 65, 300])
def test_equals_a_slow_search(num_ids: int) -> None:
    torch.manual_seed(num_ids)
    logits = torch.randn(40, num_ids) * 3
    noise = Noise(3)
    uniforms = [noise.at(index) for index in range(40)]
    ids, logprobs = sample(logits, [0.7] * 40, uniforms)
    for row, uniform in enumerate(uniforms):
        probabilities = torch.softmax(logits[row].double() / 0.7, dim=0)
        sums = torch.cumsum(probabilities, dim=0).tolist()
        expected = next(index for index, total in enumerate(sums) if total > uniform)
        assert ids[row].item() == expected
        assert logprobs[row].item() == pytest.approx(math.log(probabilities[expected]), abs=1e-5)


def test_frequencies_follow_the_probabilities() -> None:
    noise = Noise(11)
    ids, _ = sample(LOGITS.expand(8000, 4), [1.0] * 8000, [noise.at(index) for index in range(8000)])
    shares = torch.bincount(ids, minlength=4) / 8000
    assert torch.allclose(shares, torch.tensor([1 / 8, 2 / 8, 5 / 8, 0.0]), atol=0.02)


def test_banned_ids_by_row() -> None:
    logits = torch.zeros(3, 4)
    ban(logits, [(0, 1), (), (2,)])
    assert torch.isinf(logits).tolist() == [
        [True, True, False, False],
        [False, False, False, False],
        [False, False, True, False],
    ]


def test_what_is_banned_at_both_ends_is_not_taken_at_the_ends_of_the_unit_interval() -> None:
    logits = torch.zeros(2, 200)
    ban(logits, [(*range(70), *range(130, 200))] * 2)
    ids, logprobs = sample(logits, [1.0, 1.0], [0.0, 1 - 2**-32])
    assert ids.tolist() == [70, 129]
    assert logprobs.tolist() == pytest.approx([math.log(1 / 60)] * 2, abs=1e-6)


def test_noise_is_by_seed_and_index() -> None:
    first, second = Noise(5), Noise(5)
    assert second.at(70) == [first.at(index) for index in range(80)][70]
    assert first.at(0) != Noise(6).at(0)
    assert all(0 <= first.at(index) < 1 for index in range(200))


def test_noise_is_the_same_in_every_process_and_release() -> None:
    assert [round(Noise(5).at(index), 6) for index in (0, 1, 40)] == NOISE_OF_SEED_5


def test_common_prefix() -> None:
    assert common_prefix([1, 2, 3], [1, 2, 3, 4]) == 3
    assert common_prefix([1, 9, 3], [1, 2, 3]) == 1
    assert common_prefix([], [1]) == 0
