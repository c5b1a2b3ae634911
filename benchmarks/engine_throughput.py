"""WebShop episodes per second of the in-process engine against lock-step batches of transformers' `generate`.

Both play the same tasks with the shipped base model, as the recipe does, as many episodes at once. The
engine gives the place of an episode that has ended to the next one. A lock-step batch pre-fills all of a
conversation at each turn, in the faster cache mode of `generate`, with its ended episodes left out, and gives
no logprobs, which the engine always does. Rounds alternate. The ratio is that of the wall-clock or that of
the processor's time, whichever is smaller, so that others on the machine cannot improve it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import torch
from transformers import PreTrainedModel

from benchmarks.report import record
from molt_envs import TokenEnv
from molt_train.model.load import load_model
from molt_train.rollout.chat_renderer import ChatRenderer
from molt_train.rollout.engine import Sampling
from molt_train.rollout.transformers_engine import TransformersEngine

NAME = "engine_throughput"
TARGET_RATIO = 2.5
NUM_AT_ONCE = 64
NUM_EPISODES = 128
NUM_ROUNDS = 2
MAX_TURN_TOKENS = 32
MAX_CONTEXT_TOKENS = 1024
TEMPERATURE = 0.8


@dataclass
class Round:
    """What one round of episodes came to."""

    num_turns: int = 0
    """Turns sampled."""
    num_sampled: int = 0
    """Ids sampled, those after a stop id apart."""
    num_seen: int = 0
    """Ids of all conversations at their end."""
    elapsed_s: float = 0.0
    """Wall-clock."""
    cpu_s: float = 0.0
    """Of the process, which others on the machine do not lengthen."""


@dataclass(frozen=True)
class Table:
    """What both sides play with."""

    model: PreTrainedModel
    """The policy."""
    envs: list[TokenEnv]
    """One for each episode of a round."""
    stop_ids: tuple[int, ...]
    """A sampled one ends a turn."""
    autocast_dtype: torch.dtype | None
    """Computed in; None for float32."""


def main() -> None:
    """Measure in float32 and under bfloat16 autocast."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, tokenizer = load_model("webshop-base", dtype=torch.float32)
    model.eval()
    renderer = ChatRenderer(tokenizer)
    envs = [
        TokenEnv(gymnasium.make("molt_envs:molt/WebShop-v0", page_size=5), renderer)
        for _ in range(NUM_EPISODES)
    ]
    for name, autocast_dtype in (("float32", None), ("bfloat16", torch.bfloat16)):
        measure(name, Table(model, envs, tuple(renderer.stop_ids), autocast_dtype))


def measure(name: str, table: Table) -> None:
    """Alternate rounds of both on the same tasks and record the ratio of the episodes per second."""
    settings: dict[str, dict[str, Any]] = {
        "dynamic cache": {},
        "static cache": {"cache_implementation": "static", "disable_compile": True},
    }
    tried = {
        label: timed(partial(play_lock_step, table, setting), 0).cpu_s for label, setting in settings.items()
    }
    best = min(tried, key=tried.__getitem__)
    engine = TransformersEngine(
        table.model,
        num_slots=NUM_AT_ONCE,
        max_context_tokens=MAX_CONTEXT_TOKENS,
        autocast_dtype=table.autocast_dtype,
    )
    with ThreadPoolExecutor(1) as thread:
        ours = partial(play_engine, table, engine, thread)
        theirs = partial(play_lock_step, table, settings[best])
        timed(ours, 0)
        rounds = [(timed(ours, number), timed(theirs, number)) for number in range(1, NUM_ROUNDS + 1)]
    engine.close()
    ours_s, theirs_s = (sum(each.elapsed_s for each in side) for side in zip(*rounds, strict=True))
    ours_cpu_s, theirs_cpu_s = (sum(each.cpu_s for each in side) for side in zip(*rounds, strict=True))
    ratio = min(theirs_s / ours_s, theirs_cpu_s / ours_cpu_s)
    num_episodes = NUM_EPISODES * NUM_ROUNDS
    turns = [sum(each.num_turns for each in side) / num_episodes for side in zip(*rounds, strict=True)]
    record(
        f"{NAME}.{name}",
        f"at least {TARGET_RATIO} times the WebShop episodes per second of lock-step generate, {name}",
        ratio,
        ratio >= TARGET_RATIO,
        {
            "engine_episodes_per_s": num_episodes / ours_s,
            "generate_episodes_per_s": num_episodes / theirs_s,
            "ratio_of_turns_per_s": (turns[0] / ours_s) / (turns[1] / theirs_s),
            "turns_an_episode": turns,
            "ratio_of_wall_clock": theirs_s / ours_s,
            "ratio_of_cpu_time": theirs_cpu_s / ours_cpu_s,
            "ratio_by_round": [theirs.elapsed_s / ours.elapsed_s for ours, theirs in rounds],
            "ids_sampled": [sum(each.num_sampled for each in side) for side in zip(*rounds, strict=True)],
            "ids_seen": [sum(each.num_seen for each in side) for side in zip(*rounds, strict=True)],
            "generate_setting": best,
            "generate_settings_cpu_s": tried,
            "num_at_once": NUM_AT_ONCE,
            "num_episodes_a_round": NUM_EPISODES,
        },
    )


def task_id(number: int, order: int) -> dict[str, str]:
    """The task of an episode of a round."""
    return {"task_id": f"train:{number * NUM_EPISODES + order}"}


def play_engine(
    table: Table, engine: TransformersEngine, thread: ThreadPoolExecutor, number: int, found: Round
) -> None:
    """As many episodes at once as slots; one thread steps the environments, as in the runner."""
    orders = iter(range(NUM_EPISODES))

    async def play(order: int, env: TokenEnv) -> None:
        loop = asyncio.get_running_loop()
        session = engine.open_session(order)
        context, _ = await loop.run_in_executor(thread, lambda: env.reset(options=task_id(number, order)))
        turn, ended = 0, False
        while not ended:
            seed = (number * NUM_EPISODES + order) * 100 + turn
            sampling = Sampling(MAX_TURN_TOKENS, TEMPERATURE, table.stop_ids, seed=seed)
            generation = await session.generate(context, sampling)
            step = await loop.run_in_executor(thread, env.step, generation.token_ids)
            context, ended = follow(found, context, generation.token_ids, step.token_ids)
            ended, turn = ended or step.terminated or step.truncated, turn + 1
        found.num_seen += len(context)
        session.close()

    async def play_on() -> None:
        for order in orders:
            await play(order, table.envs[order])

    async def run() -> None:
        await asyncio.gather(*(play_on() for _ in range(NUM_AT_ONCE)))

    asyncio.run(run())


def play_lock_step(table: Table, setting: dict[str, Any], number: int, found: Round) -> None:
    """Batch after batch; each turn of its running episodes is one padded call."""
    for first in range(0, NUM_EPISODES, NUM_AT_ONCE):
        orders = range(first, first + NUM_AT_ONCE)
        play_batch(table, setting, [(table.envs[order], task_id(number, order)) for order in orders], found)


def play_batch(
    table: Table, setting: dict[str, Any], batch: list[tuple[TokenEnv, dict[str, str]]], found: Round
) -> None:
    """All episodes of a batch, side by side, to the end of the longest."""
    running = [(env, env.reset(options=task)[0]) for env, task in batch]
    while running:
        actions = generate(table, setting, [context for _, context in running])
        next_running: list[tuple[TokenEnv, list[int]]] = []
        for (env, before), action in zip(running, actions, strict=True):
            step = env.step(action)
            context, ended = follow(found, before, action, step.token_ids)
            if ended or step.terminated or step.truncated:
                found.num_seen += len(context)
            else:
                next_running.append((env, context))
        running = next_running


def generate(table: Table, setting: dict[str, Any], contexts: Sequence[list[int]]) -> list[list[int]]:
    """One turn of each conversation, cut after its stop id."""
    width = max(map(len, contexts))
    ids = torch.tensor([[0] * (width - len(context)) + context for context in contexts])
    mask = torch.tensor([[0] * (width - len(context)) + [1] * len(context) for context in contexts])
    with (
        torch.inference_mode(),
        torch.autocast("cpu", table.autocast_dtype, enabled=table.autocast_dtype is not None),
    ):
        output = table.model.generate(  # pyright: ignore[reportCallIssue]
            input_ids=ids,
            attention_mask=mask,
            do_sample=True,
            temperature=TEMPERATURE,
            top_k=0,
            top_p=1.0,
            max_new_tokens=MAX_TURN_TOKENS,
            eos_token_id=list(table.stop_ids),
            pad_token_id=0,
            **setting,
        )
    rows: list[list[int]] = output[:, width:].tolist()
    ends = [next((at + 1 for at, each in enumerate(row) if each in table.stop_ids), len(row)) for row in rows]
    return [row[:end] for row, end in zip(rows, ends, strict=True)]


def follow(found: Round, context: list[int], action: list[int], new: list[int]) -> tuple[list[int], bool]:
    """Count a turn; gives the conversation after it, and whether the next turn might not fit."""
    found.num_turns += 1
    found.num_sampled += len(action)
    context = [*context, *action, *new]
    return context, len(context) + MAX_TURN_TOKENS > MAX_CONTEXT_TOKENS


def timed(play: Callable[[int, Round], None], number: int) -> Round:
    """One round of tasks, which must be played to their ends."""
    found = Round()
    start, cpu_start = time.perf_counter(), time.process_time()
    play(number, found)
    found.elapsed_s, found.cpu_s = time.perf_counter() - start, time.process_time() - cpu_start
    assert found.num_turns >= 2 * NUM_EPISODES
    return found


if __name__ == "__main__":
    main()
