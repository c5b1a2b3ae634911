"""A local model as a policy of the hub: it plays as in training, many episodes at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest

from molt_envs import Episode
from molt_envs.evaluate.player import Job, play_episode
from molt_envs.evaluate.policy import ChatPolicy, ContextFull, EpisodeStart, Limits
from molt_envs.evaluate.runner import Settings, latest, open_folder, plan, run
from molt_envs.token_env import TokenEnv
from molt_train.model.load import WEBSHOP_BASE, load_model
from molt_train.rollout.chat_renderer import ChatRenderer
from molt_train.rollout.engine import Sampling
from molt_train.rollout.episode import EpisodeRequest
from molt_train.rollout.hub_policy import LocalModel
from molt_train.rollout.runner import RolloutRunner
from molt_train.rollout.transformers_engine import TransformersEngine
from tests.molt_envs.evaluate.test_openai import ToolEnv
from tests.molt_envs.toy import ToyEnv

ENV_ID = "molt/WebShop-v0"
LIMITS = Limits(temperature=1.0, max_tokens=48)


@pytest.fixture(scope="module")
def source() -> Iterator[LocalModel]:
    with contextlib.closing(LocalModel(WEBSHOP_BASE, num_slots=4, max_context_tokens=1024)) as model:
        yield model


def in_training(seeds: list[int]) -> list[Episode]:
    """The same episodes as the trainer plays them."""
    model, tokenizer = load_model(WEBSHOP_BASE)
    renderer = ChatRenderer(tokenizer)
    engine = TransformersEngine(model, num_slots=4, max_context_tokens=1024)
    requests = [
        EpisodeRequest(str(index), ENV_ID, f"test:{index}", str(index), seed)
        for index, seed in enumerate(seeds)
    ]

    async def play() -> list[Episode]:
        with RolloutRunner(engine, lambda: TokenEnv(gymnasium.make(ENV_ID), renderer), 4) as runner:
            return await runner.run(requests, Sampling(48, 1.0, renderer.stop_ids))

    with contextlib.closing(engine):
        return asyncio.run(play())


def test_episodes_are_those_of_training(source: LocalModel, tmp_path: Path) -> None:
    settings = Settings("local", (ENV_ID,), "test", 6, 1, 3, 1.0, 48)
    jobs = plan(settings, {ENV_ID: 6})
    open_folder(tmp_path, settings)
    run(jobs, source, settings, tmp_path, 6, 100.0, lambda record: None)
    records, episodes = latest(tmp_path), in_training([job.seed for job in jobs])
    assert [record.reason for record in records] == [""] * 6
    assert [(record.outcome, record.score, len(record.turns)) for record in records] == [
        (episode.outcome, episode.score, episode.num_turns) for episode in episodes
    ]
    assert [record.num_completion_tokens for record in records] == [
        episode.num_action_tokens for episode in episodes
    ]


def test_tools_are_offered_and_what_is_no_call_is_a_turn(source: LocalModel) -> None:
    record = play_episode(ToolEnv(), source, Job("tools", "test:0", 0, 0), LIMITS, "local")
    plain = play_episode(ToyEnv(), source, Job("toy", "test:0", 0, 0), LIMITS, "local")
    assert record.reason == ""
    assert record.turns
    assert record.turns[0].num_prompt_tokens > plain.turns[0].num_prompt_tokens + 10


def start(env: ToyEnv, limits: Limits = LIMITS) -> EpisodeStart:
    env.reset(seed=0)
    return EpisodeStart(env, "train:0", 0, limits)


def test_a_conversation_that_is_full_says_so(source: LocalModel) -> None:
    policy = source.start(start(ToyEnv()))
    assert isinstance(policy, ChatPolicy)
    with contextlib.closing(policy), pytest.raises(ContextFull):
        policy.reply("word " * 2000, {})


def test_a_turn_at_the_limit_is_cut(source: LocalModel) -> None:
    policy = source.start(start(ToyEnv(), Limits(1.0, 1)))
    assert isinstance(policy, ChatPolicy)
    with contextlib.closing(policy):
        reply = policy.reply("word", {})
    assert (reply.was_cut, reply.num_completion_tokens) == (True, 1)


def test_a_closed_source_leaves_episodes_unresolved() -> None:
    source = LocalModel(WEBSHOP_BASE, num_slots=1, max_context_tokens=256)
    source.close()
    record = play_episode(ToyEnv(), source, Job("toy", "train:0", 0, 0), LIMITS, "local")
    assert record.outcome == "unresolved"
