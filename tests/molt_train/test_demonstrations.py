"""An oracle's episodes carry the ids that the renderer writes, masked as if a policy had sampled them."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from molt_envs import Episode, Message, TokenEnv, Window
from molt_train.data.packing import make_micro_batches
from molt_train.data.samples import demonstration_samples
from molt_train.demonstrations import demonstrate
from tests.molt_envs.toy import register_toy
from tests.molt_train.rollout.probe_env import CARD, END, RENDERER, Probes


def test_ids_masks_and_rewards() -> None:
    (episode,) = demonstrate(Probes()(), "molt-tests/Probe-v0", ["train:3"], seed=1)
    (segment,) = episode.segments
    head = [Message("system", CARD.system_prompt), Message("user", "room 3")]
    talk = [*head, Message("assistant", "wait"), Message("user", "after wait")]
    assert segment.token_ids.tolist() == [
        *RENDERER.encode(talk),
        *RENDERER.write(Message("assistant", "win")),
    ]
    spoken = [segment.token_ids[start:end].tolist() for start, end in segment.action_ranges]
    assert spoken == [[*b"wait", END], [*b"win", END]]
    assert np.array_equal(segment.loss_mask, segment.action_mask)
    assert not segment.logprobs.any()
    assert set(segment.policy_versions[segment.action_mask].tolist()) == {0}
    assert segment.rewards == (0.25, 1.0) and segment.state_keys == ("start", "wait")
    assert (episode.outcome, episode.score, episode.success) == ("terminated", 1.0, True)
    assert episode.sampling.max_tokens == 5  # the longest turn: `wait` and the stop


def test_what_is_trained_is_what_the_oracle_said() -> None:
    episodes = list(demonstrate(Probes()(), "molt-tests/Probe-v0", ["train:3"], seed=1))
    (batch,) = make_micro_batches(demonstration_samples(episodes), 512)
    assert batch.targets_N.tolist() == [*b"wait", END, *b"win", END]


def test_a_window_gives_segments() -> None:
    env = Probes(history=Window(1))()
    (episode,) = demonstrate(env, "molt-tests/Probe-v0", ["train:3"], seed=1)
    assert episode.num_turns == 2 and episode.segments[-1].stop_reason == "terminated"


def test_long_episodes_are_reported_and_left_out() -> None:
    seen: list[Episode] = []
    tasks = ["train:1", "train:2"]
    given = list(demonstrate(Probes()(), "p", tasks, 1, max_tokens=10, on_episode=seen.append))
    assert given == [] and [episode.task_id for episode in seen] == tasks


def test_an_environment_without_an_oracle_is_named() -> None:
    env = TokenEnv(gymnasium.make(register_toy()), RENDERER)
    with pytest.raises(ValueError, match="molt-tests/Toy-v0 has no oracle"):
        next(demonstrate(env, "molt-tests/Toy-v0", ["train:0"], seed=0))
