"""What cannot be built: every invariant of segments and episodes, one broken at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from molt_envs import ImageSpan, ProtocolError, SamplingRecord
from tests.molt_envs.samples import full_segment, make_episode, plain_segment


def array(dtype: Any, *values: float) -> np.ndarray:
    return np.array(values, dtype=dtype)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"logprobs": np.zeros(8, np.float32)}, r"logprobs has shape \(8,\), token_ids has \(9,\)"),
        ({"loss_mask": np.zeros(10, np.bool_)}, "loss_mask has shape"),
        ({"policy_versions": np.zeros(3, np.int32)}, "policy_versions has shape"),
        ({"token_ids": np.arange(9)}, "token_ids is int64"),
        ({"logprobs": np.zeros(9)}, "logprobs is float64"),
        ({"loss_mask": np.zeros(9, np.int8)}, "loss_mask is int8"),
        ({"token_ids": np.zeros((9, 1), np.int32)}, "2 axes"),
        ({"token_ids": np.zeros(0, np.int32)}, "no tokens"),
        ({"token_ids": array(np.int32, 1, 2, -3, 4, 5, 6, 7, 8, 9)}, "negative token id -3"),
        ({"bootstrap_ids": array(np.int32, -1)}, "negative token id -1 in bootstrap_ids"),
        ({"action_ranges": ((0, 2), (6, 8))}, "token 0 is never an action"),
        ({"action_ranges": ((3, 5), (4, 8))}, "out of order"),
        ({"action_ranges": ((3, 3), (6, 8))}, "is empty"),
        ({"action_ranges": ((3, 5), (6, 10))}, "outside tokens"),
        ({"rewards": (0.5,)}, "1 rewards for 2"),
        ({"rewards": (0.5, float("inf"))}, "not finite"),
        ({"state_keys": ("a",)}, "1 state_keys for 2"),
        ({"loss_mask": np.ones(9, np.bool_)}, "the policy did not sample"),
        ({"logprobs": array(np.float32, 0, 0, 0, np.nan, -1, 0, -1, -1, 0)}, "no finite logprob"),
        ({"logprobs": array(np.float32, 0, 0, 0, 0.5, -1, 0, -1, -1, 0)}, "above 0"),
        ({"logprobs": array(np.float32, 0, 0, 0, -1, -1, -1, -1, -1, 0)}, "did not sample has a logprob"),
        ({"policy_versions": array(np.int32, -1, -1, -1, -1, 7, -1, 7, 7, -1)}, "no policy version"),
        ({"policy_versions": array(np.int32, 0, -1, -1, 7, 7, -1, 7, 7, -1)}, "has a policy version"),
        ({"stop_reason": "tired"}, "stop_reason 'tired'"),
        ({"routed_experts": np.zeros((8, 1, 1), np.int16)}, "8 rows for 9 tokens"),
        ({"images": (ImageSpan(2, 4, np.zeros((1, 1, 3), np.uint8)),)}, "lies in an action range"),
        ({"images": (ImageSpan(0, 2, np.zeros((1, 1, 4), np.uint8)),)}, "not uint8"),
        ({"images": (ImageSpan(0, 2, np.zeros((1, 1, 3), np.float32)),)}, "not uint8"),
        ({"images": (ImageSpan(2, 2, np.zeros((1, 1, 3), np.uint8)),)}, "image span"),
    ],
)
def test_a_broken_segment_cannot_be_built(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        replace(plain_segment(), **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol_version": 2}, "protocol version 2"),
        ({"outcome": "won"}, "outcome 'won'"),
        ({"outcome": "unresolved"}, "never scored"),
        ({"score": float("nan")}, "not finite"),
        ({"segments": ()}, "has no segments"),
        ({"segments": (replace(plain_segment(), parent=0),)}, "a parent comes earlier"),
    ],
)
def test_a_broken_episode_cannot_be_built(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        make_episode(**changes)


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), float("inf")])
def test_a_temperature_is_finite_and_not_negative(temperature: float) -> None:
    with pytest.raises(ProtocolError, match="temperature"):
        SamplingRecord(temperature, 1, 0)


def test_the_action_mask_is_the_union_of_the_ranges() -> None:
    assert plain_segment().action_mask.tolist() == [False] * 3 + [True] * 2 + [False] + [True] * 2 + [False]


def test_an_unscored_turn_is_not_counted_as_zero() -> None:
    assert make_episode(segments=(plain_segment(),)).reward == 0.25
    unscored = replace(plain_segment(), rewards=(None, None))
    assert make_episode(segments=(unscored,)).reward is None


def test_a_turn_scored_zero_is_scored() -> None:
    zero = replace(plain_segment(), rewards=(0.0, None))
    assert make_episode(segments=(zero,)).reward == 0.0


def test_an_unresolved_episode_has_no_reward() -> None:
    episode = make_episode(outcome="unresolved", score=None, success=None, segments=(full_segment(),))
    assert episode.reward is None


def test_counts_run_over_all_segments() -> None:
    episode = make_episode()
    assert (episode.num_turns, episode.num_action_tokens) == (4, 8)
