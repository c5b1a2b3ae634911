"""Every registered environment: Gymnasium's check, the conformance kit, and vector environments."""

from __future__ import annotations

import warnings
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check_env

from molt_envs import (
    ByteRenderer,
    Episode,
    EpisodeRecorder,
    Full,
    Message,
    SamplingRecord,
    TokenEnv,
    Window,
)
from molt_envs.checks import check_env, check_episode, check_token_env
from molt_envs.checks.subject import plain
from tests.molt_envs.registered import env_ids

ENV_IDS = env_ids()


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_gymnasium_accepts_it_without_a_warning(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with closing(gymnasium.make(env_id)) as env:
            gymnasium_check_env(env.unwrapped)


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_the_kit_accepts_it(env_id: str) -> None:
    check_env(env_id).assert_ok()


@pytest.mark.parametrize("history", [Full(), Window(1)])
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_the_kit_accepts_it_over_tokens(env_id: str, history: Any) -> None:
    with closing(TokenEnv(gymnasium.make(env_id), ByteRenderer(), history)) as env:
        check_token_env(env).assert_ok()


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_sync_and_async_show_the_same(env_id: str) -> None:
    shown = []
    for mode in ("sync", "async"):
        env = gymnasium.make_vec(env_id, num_envs=2, vectorization_mode=mode)
        observations, info = env.reset(seed=11)
        seen: list[Any] = [plain(observations)]
        for turn in range(20):
            actions = tuple(_action(info, index, turn) for index in range(2))
            observations, rewards, terminated, truncated, info = env.step(actions)
            seen += [actions, plain(observations), rewards.tolist(), terminated.tolist(), truncated.tolist()]
        env.close()
        shown.append(seen)
    assert shown[0] == shown[1]
    assert all(text for text in shown[0][0])


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_an_episode_of_it_passes_the_kit(env_id: str) -> None:
    recorder = EpisodeRecorder()
    with closing(TokenEnv(gymnasium.make(env_id), ByteRenderer())) as env:
        prompt, info = env.reset(seed=4)
        recorder.open(prompt)
        over = False
        while not over:
            sampled = env.renderer.write(Message("assistant", _first(info, env.card.grammar.example)))
            recorder.action(sampled, [-0.5] * len(sampled), [0] * len(sampled), info.get("state_key"))
            step = env.step(sampled)
            recorder.reward(step.reward)
            info, over = step.info, step.terminated or step.truncated
            if not over:
                recorder.append(step.token_ids)
    outcome = "terminated" if step.terminated else "truncated"
    recorder.close(outcome, step.token_ids or None)
    episode = Episode(
        episode_id="0",
        env_id=env_id,
        task_id=info["task_id"],
        seed=4,
        split=info["split"],
        group_id=info["task_id"],
        outcome=outcome,
        score=info["score"],
        success=info["success"],
        segments=recorder.segments(),
        sampling=SamplingRecord(1.0, 64, 4),
        renderer_id=env.renderer.renderer_id,
    )
    check_episode(episode, env.renderer.vocab_size).assert_ok()


def _first(info: Any, default: str) -> str:
    return (info.get("admissible_actions") or (default,))[0]


def _action(info: dict[str, Any], index: int, turn: int) -> str:
    """An action from the vector environment's info; any text where none is listed."""
    listed = info.get("admissible_actions", np.full(2, None))[index]
    return listed[(3 * turn + index) % len(listed)] if listed else "anything"
