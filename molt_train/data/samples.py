"""From graded episodes to the segments that are trained on, with an advantage for each token.

In: graded episodes. Out: `Sample`s, one per segment, and how many episodes were left out.
Shapes: T tokens of a segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from molt_envs import TRAINABLE, Episode, Segment
from molt_train.algorithms.advantage import EPISODE_ADVANTAGES, reinforce_returns, whiten
from molt_train.rewards import Graded

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """One segment to train on."""

    segment: Segment
    """The tokens, masks and logprobs."""
    advantages_T: Floats
    """float64; only those under the loss mask are read."""
    episode: int
    """Number of its episode in the batch: segments of one episode share it."""
    group: int
    """Number of its group in the batch."""
    language_T: NDArray[np.bool_] | None = None
    """Tokens to learn instead of those under the loss mask, where the text itself is the lesson."""

    @property
    def trained_T(self) -> NDArray[np.bool_]:
        """Which tokens enter the loss."""
        return self.segment.loss_mask if self.language_T is None else self.language_T

    @property
    def num_trained(self) -> int:
        """Tokens that enter the loss."""
        return int(self.trained_T.sum())


def select(graded: Sequence[Graded]) -> tuple[list[tuple[Episode, float]], int]:
    """The episodes that can be trained on with their rewards, and how many cannot.

    Left out are the unresolved, the unscored and those without a token under a loss mask: they enter no
    baseline.
    """
    kept = [
        (item.episode, item.reward)
        for item in graded
        if item.reward is not None
        and item.episode.outcome in TRAINABLE
        and any(segment.loss_mask.any() for segment in item.episode.segments)
    ]
    return kept, len(graded) - len(kept)


def mask_stale(
    scored: Sequence[tuple[Episode, float]], trained_version: int, mask_older_than: int
) -> tuple[list[tuple[Episode, float]], int]:
    """Take tokens that were sampled more than `mask_older_than` updates before `trained_version` out of the
    loss; gives the episodes, which still count in their groups, and how many tokens that were."""
    num_masked = 0
    masked: list[tuple[Episode, float]] = []
    for episode, reward in scored:
        segments: list[Segment] = []
        for segment in episode.segments:
            stale_T = segment.loss_mask & (trained_version - segment.policy_versions > mask_older_than)
            num_masked += int(stale_T.sum())
            segments.append(replace(segment, loss_mask=segment.loss_mask & ~stale_T))
        masked.append((replace(episode, segments=tuple(segments)), reward))
    return masked, num_masked


def assign_advantages(
    scored: Sequence[tuple[Episode, float]], estimator: str, gamma: float = 1.0
) -> list[Sample]:
    """Advantages by the named estimator of `molt_train.algorithms.advantage.ADVANTAGES`.

    An episode counts once in its group, by `group_id`; its advantage goes to the loss-mask tokens of all its
    segments.
    """
    if not scored:
        return []
    names = list(dict.fromkeys(episode.group_id for episode, _ in scored))
    groups = [names.index(episode.group_id) for episode, _ in scored]
    if estimator == "reinforce":
        per_episode = _reinforce(scored, gamma)
    else:
        lengths_E = np.array([_num_trained(episode) for episode, _ in scored])
        rewards_E = np.array([reward for _, reward in scored], dtype=np.float64)
        advantages_E = EPISODE_ADVANTAGES[estimator](rewards_E, np.array(groups), lengths_E)
        per_episode = [
            [np.full(len(segment.token_ids), value) for segment in episode.segments]
            for (episode, _), value in zip(scored, advantages_E, strict=True)
        ]
    return [
        Sample(segment, advantages_T, number, groups[number])
        for number, (episode, _) in enumerate(scored)
        for segment, advantages_T in zip(episode.segments, per_episode[number], strict=True)
    ]


def demonstration_samples(episodes: Sequence[Episode]) -> list[Sample]:
    """Samples for supervised training: every action token has advantage 1."""
    return [
        Sample(segment, np.ones(len(segment.token_ids)), number, number)
        for number, episode in enumerate(episodes)
        for segment in episode.segments
    ]


def language_samples(episodes: Sequence[Episode], share: float, seed: int) -> list[Sample]:
    """Samples for learning the texts: a random `share` of all tokens but the first, whoever wrote them."""
    rng = np.random.default_rng(seed)
    samples: list[Sample] = []
    for sample in demonstration_samples(episodes):
        chosen_T = rng.random(len(sample.segment.token_ids)) < share
        chosen_T[0] = False
        samples.append(replace(sample, language_T=chosen_T))
    return samples


def _reinforce(scored: Sequence[tuple[Episode, float]], gamma: float) -> list[list[Floats]]:
    """Discounted returns along each episode's segments, whitened over the batch's trained tokens."""
    returns = [
        reinforce_returns(reward, np.concatenate([s.action_mask for s in episode.segments]), None, gamma, 0.0)
        for episode, reward in scored
    ]
    masks = [np.concatenate([s.loss_mask for s in episode.segments]) for episode, _ in scored]
    white = whiten(np.concatenate([r[m] for r, m in zip(returns, masks, strict=True)]))
    per_episode: list[list[Floats]] = []
    start = 0
    for (episode, _), returns_T, mask_T in zip(scored, returns, masks, strict=True):
        end = start + int(mask_T.sum())
        returns_T[mask_T] = white[start:end]
        start = end
        bounds = np.cumsum([len(segment.token_ids) for segment in episode.segments])[:-1]
        per_episode.append(np.split(returns_T, bounds))
    return per_episode


def _num_trained(episode: Episode) -> int:
    return sum(int(segment.loss_mask.sum()) for segment in episode.segments)
