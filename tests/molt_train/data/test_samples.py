"""Which episodes are trained on, and which advantage each of their tokens gets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from molt_envs import Episode, EpisodeRecorder, Segment
from molt_train.algorithms.advantage import ADVANTAGES, reinforce_returns, whiten
from molt_train.data.packing import make_micro_batches
from molt_train.data.samples import (
    assign_advantages,
    demonstration_samples,
    language_samples,
    mask_stale,
    select,
)
from molt_train.rewards import Graded
from tests.molt_train.episodes import make_episode, make_segment, random_batch


def segment() -> Segment:
    return make_segment([1, 2], [([3, 3], [])])


def test_unresolved_unscored_and_untrained_episodes_are_left_out_and_counted() -> None:
    mute = replace(segment(), loss_mask=np.zeros(4, dtype=np.bool_))
    graded = [
        Graded(make_episode([segment()]), 1.0),
        Graded(make_episode([segment()]), None),
        Graded(make_episode([segment()], outcome="unresolved", score=None, success=None), None),
        Graded(make_episode([mute]), 5.0),
        Graded(make_episode([], outcome="failed"), 0.0),
        Graded(make_episode([segment()], outcome="failed"), 0.0),
    ]
    kept, num_excluded = select(graded)
    assert [reward for _, reward in kept] == [1.0, 0.0]
    assert num_excluded == 4


def test_groups_are_found_by_id_wherever_their_episodes_stand() -> None:
    scored = [
        (make_episode([segment()], name), reward) for name, reward in zip("abab", [1, 5, 0, 9], strict=True)
    ]
    samples = assign_advantages(scored, "dr_grpo")
    assert [sample.advantages_T[0] for sample in samples] == [0.5, -2.0, -0.5, 2.0]
    assert [sample.group for sample in samples] == [0, 1, 0, 1]
    assert [sample.episode for sample in samples] == [0, 1, 2, 3]


def test_an_episode_of_two_segments_counts_once() -> None:
    scored = [
        (make_episode([segment(), segment(), segment()], "a"), 3.0),
        (make_episode([segment()], "a"), 0.0),
    ]
    samples = assign_advantages(scored, "dr_grpo")
    assert [sample.episode for sample in samples] == [0, 0, 0, 1]
    assert [sample.advantages_T[-1] for sample in samples] == [1.5, 1.5, 1.5, -1.5]


def test_reinforce_runs_over_segments_and_is_whitened_over_trained_tokens() -> None:
    left, right = make_segment([1], [([2, 3], [4])]), make_segment([1, 2], [([5], [6])])
    other = make_segment([1], [([2], [])])
    scored = [(make_episode([left, right]), 2.0), (make_episode([other]), 1.0)]
    samples = assign_advantages(scored, "reinforce", gamma=0.5)
    mask = np.concatenate([left.action_mask, right.action_mask])
    returns = reinforce_returns(2.0, mask, None, 0.5, 0.0)
    np.testing.assert_allclose(returns[mask], [2 / 32, 2 / 16, 2.0])
    white = whiten(np.array([2 / 32, 2 / 16, 2.0, 1.0]))
    found = np.concatenate([sample.advantages_T[sample.segment.loss_mask] for sample in samples])
    np.testing.assert_allclose(found, white)


@pytest.mark.parametrize("estimator", ADVANTAGES)
def test_every_estimator_gives_every_token_a_number(estimator: str) -> None:
    samples = assign_advantages(select(random_batch())[0], estimator, gamma=0.9)
    assert sum(sample.num_trained for sample in samples) > 0
    for sample in samples:
        assert sample.advantages_T.shape == sample.segment.token_ids.shape
        assert np.isfinite(sample.advantages_T[sample.segment.loss_mask]).all()


def test_nothing_scored_gives_no_samples() -> None:
    assert assign_advantages([], "grpo") == []


def test_demonstrations_have_advantage_one() -> None:
    samples = demonstration_samples([make_episode([segment(), segment()])])
    assert [sample.episode for sample in samples] == [0, 0]
    assert all((sample.advantages_T == 1).all() for sample in samples)


def test_language_samples_choose_a_seeded_share_of_all_tokens_but_the_first() -> None:
    long = make_segment(list(range(50)), [([3] * 20, [4] * 30)] * 4)
    samples = language_samples([make_episode([long, long])], share=0.3, seed=5)
    again = language_samples([make_episode([long, long])], share=0.3, seed=5)
    for sample, same in zip(samples, again, strict=True):
        assert np.array_equal(sample.trained_T, same.trained_T)
        assert not sample.trained_T[0]
        assert sample.trained_T.mean() == pytest.approx(0.3, abs=0.08)
        assert sample.trained_T[~long.action_mask].any()
    assert not np.array_equal(samples[0].trained_T, samples[1].trained_T)


def aged(versions: list[int]) -> Episode:
    recorder = EpisodeRecorder()
    recorder.open([1])
    recorder.action([2] * len(versions), [-1.0] * len(versions), versions)
    recorder.reward(1.0)
    recorder.close("terminated")
    return make_episode([recorder.segments()[0]])


def test_tokens_that_are_too_old_leave_the_loss_and_their_episode_stays() -> None:
    scored = [(aged([3, 4, 5]), 1.0), (aged([3, 3]), 0.0)]
    masked, num_masked = mask_stale(scored, trained_version=5, mask_older_than=1)
    assert num_masked == 3
    assert [episode.segments[0].loss_mask.tolist() for episode, _ in masked] == [
        [False, False, True, True],
        [False, False, False],
    ]
    assert [episode.segments[0].action_mask.sum() for episode, _ in masked] == [3, 2]
    first, second = assign_advantages(masked, "grpo")
    assert first.advantages_T[2] == pytest.approx(-second.advantages_T[0]) and first.num_trained == 2
    (batch,) = make_micro_batches([first, second], 64)
    assert len(batch.weights_N) == 2


def test_nothing_is_masked_within_the_bound() -> None:
    scored = [(aged([3, 4, 5]), 1.0)]
    masked, num_masked = mask_stale(scored, trained_version=5, mask_older_than=2)
    assert num_masked == 0 and masked[0][0].segments[0].loss_mask.sum() == 3
