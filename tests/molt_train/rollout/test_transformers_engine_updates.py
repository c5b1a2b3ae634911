"""New weights while turns are under way: each id is sampled by the weights whose version it carries."""

from __future__ import annotations

import asyncio
import copy
import random

import pytest
import torch
from transformers import PreTrainedModel

from molt_train.rollout.engine import EngineError, Generation, Sampling
from molt_train.rollout.transformers_engine import TransformersEngine
from molt_train.weight_sync import PublishedWeights, WeightPublisher
from tests.molt_train.rollout.tiny_models import full_logprobs, tiny_model

Versions = dict[int, PreTrainedModel]


def changed(model: PreTrainedModel, seed: int) -> PreTrainedModel:
    other = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.05)
    return other


def largest_gap(versions: Versions, prompt: list[int], turn: Generation, sampling: Sampling) -> float:
    """Each id against a plain forward of the weights that it says."""
    gap = 0.0
    for version in set(turn.policy_versions):
        scored = full_logprobs(versions[version], [*prompt, *turn.token_ids], len(prompt), sampling)
        for index, logprob in enumerate(scored):
            if turn.policy_versions[index] == version:
                gap = max(gap, abs(logprob - turn.logprobs[index]))
    return gap


@pytest.mark.parametrize("deterministic", [False, True])
def test_turns_go_on_with_the_new_weights(deterministic: bool) -> None:
    models: Versions = {0: tiny_model()}
    for version in range(1, 6):
        models[version] = changed(models[version - 1], version)
    engine = TransformersEngine(
        copy.deepcopy(models[0]), num_slots=3, max_context_tokens=220, deterministic=deterministic
    )
    sampling = Sampling(150, 0.8)
    prompts = [[3 + order, 5, 7, 9][: 2 + order % 3] for order in range(5)]

    async def play(order: int) -> Generation:
        session = engine.open_session(order)
        try:
            return await session.generate(prompts[order], Sampling(150, 0.8, seed=order))
        finally:
            session.close()

    async def run() -> list[Generation]:
        with WeightPublisher() as publisher:
            turns = [asyncio.create_task(play(order)) for order in range(5)]
            for version in range(1, 6):
                await asyncio.sleep(random.Random(version).random() * 0.05)
                await engine.update_weights(publisher.publish(models[version], version))
                assert engine.policy_version == version
            return await asyncio.gather(*turns)

    turns = asyncio.run(run())
    engine.close()
    for prompt, turn in zip(prompts, turns, strict=True):
        assert turn.policy_versions == sorted(turn.policy_versions)
        assert largest_gap(models, prompt, turn, sampling) < 1e-4
    assert max(len(set(turn.policy_versions)) for turn in turns) > 1


def test_a_turn_that_is_cancelled_around_an_update_leaves_its_slot() -> None:
    model = tiny_model()
    engine = TransformersEngine(
        copy.deepcopy(model), num_slots=1, max_context_tokens=220, deterministic=False
    )

    async def run() -> Generation:
        with WeightPublisher() as publisher:
            session = engine.open_session(0)
            turn = asyncio.create_task(session.generate([3], Sampling(200)))
            await asyncio.sleep(0.02)
            update = asyncio.create_task(engine.update_weights(publisher.publish(model, 1)))
            await asyncio.sleep(0)
            turn.cancel()
            session.close()
            await update
            with pytest.raises((asyncio.CancelledError, EngineError)):
                await turn
            other = engine.open_session(1)
            async with asyncio.timeout(20):
                return await other.generate([3], Sampling(5))

    assert set(asyncio.run(run()).policy_versions) == {1}
    engine.close()


def test_weights_that_do_not_fit_stop_the_engine_with_the_name() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=50)

    async def run() -> None:
        with WeightPublisher() as publisher:
            await engine.update_weights(publisher.publish(tiny_model("llama"), 1))

    with pytest.raises(EngineError, match=r"q_norm"):
        asyncio.run(run())
    with pytest.raises(EngineError, match="could not be changed"):
        asyncio.run(engine.open_session(0).generate([3], Sampling(2)))
    engine.close()


def test_a_file_that_is_not_what_was_published_is_refused() -> None:
    model = tiny_model()
    engine = TransformersEngine(copy.deepcopy(model), num_slots=1, max_context_tokens=50)

    async def run() -> None:
        with WeightPublisher() as publisher:
            weights = publisher.publish(model, 1)
            shapes = {**weights.shapes, "model.norm.weight": (1,)}
            await engine.update_weights(PublishedWeights(1, weights.path, shapes))

    with pytest.raises(EngineError, match=r"model\.norm\.weight"):
        asyncio.run(run())
    engine.close()
