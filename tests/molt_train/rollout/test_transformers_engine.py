"""What the engine samples: equal to transformers, by seed, by version, within its limits."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
import torch

from molt_train.rollout.engine import EngineError, Generation, PromptTooLong, Sampling
from molt_train.rollout.transformers_engine import TransformersEngine
from tests.molt_train.rollout.tiny_models import VOCAB_SIZE, full_logprobs, tiny_model

Played = list[tuple[list[int], Generation, Sampling]]


async def play(
    engine: TransformersEngine, order: int, num_turns: int = 3, temperature: float = 0.8
) -> Played:
    """A conversation whose lengths depend on `order` alone: (prompt, turn, sampling) of each turn."""
    draw = random.Random(order)
    session = engine.open_session(order)
    context = [draw.randrange(VOCAB_SIZE) for _ in range(draw.randrange(2, 30))]
    played: Played = []
    for turn in range(num_turns):
        await asyncio.sleep(draw.random() * 0.003)
        sampling = Sampling(
            draw.randrange(1, 9), temperature, stop_ids=(1,), banned_ids=(5,), seed=order * 9 + turn
        )
        generation = await session.generate(context, sampling)
        played.append((context, generation, sampling))
        observation = [draw.randrange(VOCAB_SIZE) for _ in range(draw.randrange(1, 15))]
        context = [*context, *generation.token_ids, *observation]
    session.close()
    return played


async def play_all(engine: TransformersEngine, num_episodes: int) -> list[Played]:
    return await asyncio.gather(*(play(engine, order) for order in range(num_episodes)))


def one_turn(engine: TransformersEngine, prompt_ids: list[int], sampling: Sampling) -> Generation:
    async def run() -> Generation:
        session = engine.open_session(0)
        try:
            return await session.generate(prompt_ids, sampling)
        finally:
            session.close()

    return asyncio.run(run())


def largest_gap(model: torch.nn.Module, played: Played) -> float:
    gaps = [
        abs(reported - expected)
        for prompt_ids, turn, sampling in played
        for reported, expected in zip(
            turn.logprobs,
            full_logprobs(model, [*prompt_ids, *turn.token_ids], len(prompt_ids), sampling),
            strict=True,
        )
    ]
    return max(gaps)


@pytest.mark.parametrize("architecture", ["qwen3", "llama"])
def test_logprobs_of_conversations_equal_a_full_forward(architecture: str) -> None:
    model = tiny_model(architecture)
    engine = TransformersEngine(model, num_slots=3, max_context_tokens=200)
    episodes = asyncio.run(play_all(engine, 7))
    assert max(largest_gap(model, played) for played in episodes) < 1e-5
    assert engine.counts.num_reused_tokens > engine.counts.num_prefill_tokens


def test_eager_attention_and_small_forwards_agree_too() -> None:
    model = tiny_model()
    model.set_attn_implementation("eager")
    engine = TransformersEngine(model, num_slots=3, max_context_tokens=200, max_forward_tokens=16)
    assert max(largest_gap(model, played) for played in asyncio.run(play_all(engine, 5))) < 1e-5


def test_a_sparse_batch_agrees_too() -> None:
    model = tiny_model()
    engine = TransformersEngine(model, num_slots=12, max_context_tokens=100)

    async def turn(order: int) -> tuple[list[int], Generation, Sampling]:
        session = engine.open_session(order)
        sampling = Sampling(40 if order in (0, 11) else 1, seed=order)
        generation = await session.generate([order + 7, 3], sampling)
        session.close()
        return [order + 7, 3], generation, sampling

    async def run() -> Played:
        return await asyncio.gather(*(turn(order) for order in range(12)))

    assert largest_gap(model, asyncio.run(run())) < 1e-5


def test_only_new_ids_are_computed() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=100)

    async def run() -> None:
        session = engine.open_session(0)
        turn = await session.generate([3, 4, 6, 7], Sampling(3))
        assert engine.counts.num_prefill_tokens == 4
        await session.generate([3, 4, 6, 7, *turn.token_ids, 8, 9], Sampling(1))
        # The last sampled id was never fed; so it and the two new ones are.
        assert engine.counts.num_prefill_tokens == 4 + 3

    asyncio.run(run())


def test_a_rewritten_history_is_computed_from_the_common_prefix() -> None:
    model = tiny_model()
    engine = TransformersEngine(model, num_slots=1, max_context_tokens=100)
    sampling = Sampling(4, seed=3)

    async def run() -> Generation:
        session = engine.open_session(0)
        await session.generate([3, 4, 6, 7, 8], sampling)
        turn = await session.generate([3, 4, 9, 9], sampling)
        assert engine.counts.num_reused_tokens == 2
        return turn

    assert largest_gap(model, [([3, 4, 9, 9], asyncio.run(run()), sampling)]) < 1e-5


def test_a_repeated_prompt_gives_the_same_turn() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=100)

    async def run() -> tuple[Generation, Generation]:
        session = engine.open_session(0)
        return await session.generate([3, 4], Sampling(6)), await session.generate([3, 4], Sampling(6))

    first, second = asyncio.run(run())
    assert first.token_ids == second.token_ids


def test_sampled_ids_depend_on_seed_and_prompt_not_on_companions() -> None:
    model = tiny_model()
    together = asyncio.run(play_all(TransformersEngine(model, num_slots=6, max_context_tokens=200), 6))
    alone = TransformersEngine(model, num_slots=1, max_context_tokens=200)
    for order in range(6):
        turns = asyncio.run(play(alone, order))
        assert [turn.token_ids for _, turn, _ in turns] == [turn.token_ids for _, turn, _ in together[order]]


def test_the_same_rollout_gives_the_same_bits() -> None:
    def run() -> list[list[float]]:
        engine = TransformersEngine(tiny_model(), num_slots=3, max_context_tokens=200)
        return [turn.logprobs for played in asyncio.run(play_all(engine, 8)) for _, turn, _ in played]

    assert run() == run()


def test_another_seed_gives_another_turn() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=100)
    turns = [one_turn(engine, [3, 4], Sampling(12, seed=seed)).token_ids for seed in (1, 2)]
    assert turns[0] != turns[1]


def test_new_weights_are_followed() -> None:
    model = tiny_model()
    engine = TransformersEngine(model, num_slots=1, max_context_tokens=100)
    prompt, sampling = [3, 4, 6, 7, 8, 9], Sampling(5, seed=1)

    async def run(tell: bool) -> tuple[Generation, float]:
        session = engine.open_session(0)
        await session.generate(prompt, sampling)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(0.8)
        if tell:
            engine.weights_updated(engine.policy_version + 1)
        turn = await session.generate([*prompt, 2], sampling)
        session.close()
        return turn, largest_gap(model, [([*prompt, 2], turn, sampling)])

    turn, gap = asyncio.run(run(tell=True))
    assert gap < 1e-5
    assert set(turn.policy_versions) == {1}
    # Without the call the stale cache shows, so the assertion above can fail.
    assert asyncio.run(run(tell=False))[1] > 1e-3


def test_weights_do_not_change_in_the_middle_of_a_turn() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=100)

    async def run() -> None:
        task = asyncio.create_task(engine.open_session(4).generate([3], Sampling(50)))
        await asyncio.sleep(0)
        with pytest.raises(EngineError, match="session 4 was in a turn"):
            engine.weights_updated(1)
        await task

    asyncio.run(run())


def test_greedy_takes_the_most_probable_ids_with_their_logprobs_at_temperature_1() -> None:
    model = tiny_model()
    sampling = Sampling(6, temperature=0.0)
    turn = one_turn(TransformersEngine(model, num_slots=1, max_context_tokens=100), [3, 4], sampling)
    context = [3, 4]
    for token_id in turn.token_ids:
        with torch.no_grad():
            assert token_id == model(input_ids=torch.tensor([context])).logits[0, -1].argmax().item()
        context.append(token_id)
    assert largest_gap(model, [([3, 4], turn, sampling)]) < 1e-5


def test_a_stop_id_ends_the_turn_and_belongs_to_it() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=100)
    free = one_turn(engine, [3, 4], Sampling(8, seed=2))
    assert (free.stop_reason, len(free.token_ids)) == ("length", 8)
    stop_id = free.token_ids[4]
    stopped = one_turn(engine, [3, 4], Sampling(8, stop_ids=(stop_id,), seed=2))
    assert stopped.stop_reason == "stop"
    assert stopped.token_ids == free.token_ids[: free.token_ids.index(stop_id) + 1]


def test_a_stop_id_as_the_last_allowed_token_is_a_stop() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=100)
    free = one_turn(engine, [3, 4], Sampling(3, seed=2))
    last = Sampling(free.token_ids.index(free.token_ids[-1]) + 1, stop_ids=(free.token_ids[-1],), seed=2)
    assert one_turn(engine, [3, 4], last).stop_reason == "stop"


def test_the_context_ends_a_turn_and_refuses_a_full_prompt() -> None:
    model = tiny_model()
    engine = TransformersEngine(model, num_slots=1, max_context_tokens=10)
    sampling = Sampling(50, seed=1)
    turn = one_turn(engine, [3] * 7, sampling)
    assert (len(turn.token_ids), turn.stop_reason) == (3, "length")
    assert largest_gap(model, [([3] * 7, turn, sampling)]) < 1e-5
    with pytest.raises(PromptTooLong, match="10 prompt tokens leave no room in a context of 10"):
        one_turn(engine, [3] * 10, sampling)


def test_banned_ids_are_never_sampled() -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=250)
    allowed = (11, 13)
    banned = tuple(i for i in range(VOCAB_SIZE) if i not in allowed)
    turn = one_turn(engine, [3], Sampling(200, temperature=3.0, banned_ids=banned))
    assert set(turn.token_ids) == set(allowed)


@pytest.mark.parametrize(
    ("prompt_ids", "sampling", "message"),
    [
        ([], Sampling(1), "empty prompt"),
        ([3, VOCAB_SIZE], Sampling(1), f"prompt id {VOCAB_SIZE}"),
        ([-1], Sampling(1), "prompt id -1"),
        ([3], Sampling(1, banned_ids=(VOCAB_SIZE,)), f"banned id {VOCAB_SIZE}"),
        ([3], Sampling(1, banned_ids=tuple(range(VOCAB_SIZE))), "every id is banned"),
    ],
)
def test_wrong_ids_are_refused_before_they_reach_the_batch(
    prompt_ids: list[int], sampling: Sampling, message: str
) -> None:
    engine = TransformersEngine(tiny_model(), num_slots=1, max_context_tokens=100)
    with pytest.raises(ValueError, match=message):
        one_turn(engine, prompt_ids, sampling)


def test_autocast_is_close_and_leaves_gradients_alone() -> None:
    model = tiny_model().train()
    engine = TransformersEngine(model, num_slots=2, max_context_tokens=200, autocast_dtype=torch.bfloat16)
    gap = largest_gap(model, asyncio.run(play(engine, 0)))
    assert 1e-5 < gap < 0.5
    with torch.autocast("cpu", torch.bfloat16):
        model(input_ids=torch.tensor([[3, 4]])).logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 8}, "sliding_attention"),
        ({"layer_types": ["full_attention", "linear_attention"]}, "linear_attention"),
        (
            {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}},
            "dynamic positions",
        ),
        ({"_attn_implementation": "flex_attention"}, "attn_implementation='sdpa'"),
        ({"max_position_embeddings": 99}, "max_context_tokens is 100; Qwen3ForCausalLM has 99"),
    ],
)
def test_models_that_the_cache_would_compute_wrongly_are_refused(
    changes: dict[str, object], message: str
) -> None:
    model = tiny_model()
    for name, value in changes.items():
        setattr(model.config, name, value)
    with pytest.raises(ValueError, match=message):
        TransformersEngine(model, num_slots=1, max_context_tokens=100)


def test_who_has_the_last_result_finds_the_model_as_it_was() -> None:
    model = tiny_model().train()
    engine = TransformersEngine(model, num_slots=4, max_context_tokens=200)

    async def run() -> None:
        for order in range(30):
            session = engine.open_session(order)
            await session.generate([3, 4], Sampling(1))
            assert model.training
            session.close()

    asyncio.run(run())


def test_a_temperature_of_its_own_for_each_row() -> None:
    model = tiny_model()
    engine = TransformersEngine(model, num_slots=3, max_context_tokens=100)
    samplings = [replace(Sampling(8, seed=i), temperature=t) for i, t in enumerate((0.0, 0.5, 2.0))]

    async def run() -> Played:
        sessions = [engine.open_session(order) for order in range(3)]
        done = await asyncio.gather(
            *(s.generate([3, 4], t) for s, t in zip(sessions, samplings, strict=True))
        )
        return [([3, 4], turn, sampling) for turn, sampling in zip(done, samplings, strict=True)]

    assert largest_gap(model, asyncio.run(run())) < 1e-5
