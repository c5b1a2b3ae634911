"""Episodes per second of the in-process engine against lock-step batches of transformers' own `generate`.

Both play the same environment through `TokenEnv` with the same small model: as many episodes at once, as many
turns, as many sampled ids. `generate` pre-fills all of a conversation at each turn, in its faster cache mode,
and is not asked for logprobs, which the engine always gives. Rounds of the two alternate.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from benchmarks.report import record
from molt_envs import ActionGrammar, AgentEnv, ByteRenderer, EnvCard, Task, TokenEnv, Turn
from molt_train.rollout.engine import Sampling
from molt_train.rollout.transformers_engine import TransformersEngine

NAME = "engine_throughput"
TARGET_RATIO = 2.5
NUM_EPISODES = 32
NUM_TURNS = 5
NUM_ACTION_TOKENS = 8
NUM_ROUNDS = 7
MAX_CONTEXT_TOKENS = 1024
WORDS = (
    "bolt",
    "cable",
    "drill",
    "engine",
    "filter",
    "gasket",
    "hinge",
    "joint",
    "lamp",
    "motor",
    "nut",
    "pump",
)


class Storeroom(AgentEnv):
    """Shows a shelf of about 100 characters after each of five actions, whatever they are."""

    def __init__(self) -> None:
        super().__init__(
            EnvCard(
                summary="Look through shelves.",
                system_prompt="You look after a storeroom. Say which shelf to look at next.",
                grammar=ActionGrammar("a few words", "look at shelf 3"),
                reward_range=(0.0, 1.0),
                splits={"train": NUM_EPISODES},
                max_turns=NUM_TURNS,
                bounded=True,
            )
        )
        self._rng = np.random.default_rng(0)

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._rng = np.random.default_rng(task.index)
        return Turn(self._shelf())

    def _act(self, action: str) -> Turn:
        return Turn(self._shelf())

    def _shelf(self) -> str:
        items = [f"{self._rng.integers(2, 99)} {word}s" for word in self._rng.choice(WORDS, 9)]
        return f"Shelf {self._rng.integers(1, 40)}: {', '.join(items)}."


def main() -> None:
    """Measure in float32 and under bfloat16 autocast."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = small_model()
    for name, autocast_dtype in (("float32", None), ("bfloat16", torch.bfloat16)):
        measure(name, model, autocast_dtype)


def measure(name: str, model: PreTrainedModel, autocast_dtype: torch.dtype | None) -> None:
    """Alternate rounds of both and record the ratio of the medians."""
    envs = [TokenEnv(Storeroom(), ByteRenderer()) for _ in range(NUM_EPISODES)]
    settings: dict[str, dict[str, Any]] = {
        "dynamic cache": {},
        "static cache": {"cache_implementation": "static", "disable_compile": True},
    }
    tried = {
        label: min(timed(partial(play_lock_step, model, envs, autocast_dtype, setting)) for _ in range(3))
        for label, setting in settings.items()
    }
    best = min(tried, key=tried.__getitem__)
    engine = TransformersEngine(
        model, num_slots=NUM_EPISODES, max_context_tokens=MAX_CONTEXT_TOKENS, autocast_dtype=autocast_dtype
    )
    with ThreadPoolExecutor(1) as thread:
        ours = partial(play_engine, engine, envs, thread)
        theirs = partial(play_lock_step, model, envs, autocast_dtype, settings[best])
        ours()
        rounds = [(timed(ours), timed(theirs)) for _ in range(NUM_ROUNDS)]
    engine.close()
    ours_s, theirs_s = (statistics.median(times) for times in zip(*rounds, strict=True))
    record(
        f"{NAME}.{name}",
        f"at least {TARGET_RATIO} times the episodes per second of lock-step generate, {name}",
        theirs_s / ours_s,
        theirs_s / ours_s >= TARGET_RATIO,
        {
            "engine_episodes_per_s": NUM_EPISODES / ours_s,
            "generate_episodes_per_s": NUM_EPISODES / theirs_s,
            "rounds_s": rounds,
            "generate_setting": best,
            "generate_settings_s": tried,
            "num_episodes_at_once": NUM_EPISODES,
            "num_turns": NUM_TURNS,
            "num_action_tokens": NUM_ACTION_TOKENS,
        },
    )


def small_model() -> PreTrainedModel:
    """Two layers of 128, as in the small recipes."""
    config = Qwen3Config(
        vocab_size=4096,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        intermediate_size=384,
        max_position_embeddings=MAX_CONTEXT_TOKENS,
        initializer_range=0.08,
        tie_word_embeddings=True,
    )
    return Qwen3ForCausalLM(config).eval()


def play_engine(engine: TransformersEngine, envs: list[TokenEnv], thread: ThreadPoolExecutor) -> int:
    """All episodes at once; one thread steps the environments, as in the runner. Gives the tokens seen."""

    async def play(order: int, env: TokenEnv) -> int:
        loop = asyncio.get_running_loop()
        session = engine.open_session(order)
        context, _ = await loop.run_in_executor(
            thread, lambda: env.reset(options={"task_id": f"train:{order}"})
        )
        for turn in range(NUM_TURNS):
            sampling = Sampling(NUM_ACTION_TOKENS, seed=order * NUM_TURNS + turn)
            generation = await session.generate(context, sampling)
            step = await loop.run_in_executor(thread, env.step, generation.token_ids)
            context = [*context, *generation.token_ids, *step.token_ids]
        session.close()
        return len(context)

    async def run() -> list[int]:
        return await asyncio.gather(*(play(order, env) for order, env in enumerate(envs)))

    return sum(asyncio.run(run()))


def play_lock_step(
    model: PreTrainedModel,
    envs: list[TokenEnv],
    autocast_dtype: torch.dtype | None,
    setting: dict[str, Any],
) -> int:
    """Each turn of all episodes in one padded batch, pre-filled from its beginning. Gives the tokens seen."""
    contexts = [env.reset(options={"task_id": f"train:{order}"})[0] for order, env in enumerate(envs)]
    for _ in range(NUM_TURNS):
        width = max(map(len, contexts))
        ids = torch.tensor([[0] * (width - len(context)) + context for context in contexts])
        mask = torch.tensor([[0] * (width - len(context)) + [1] * len(context) for context in contexts])
        with (
            torch.inference_mode(),
            torch.autocast("cpu", autocast_dtype, enabled=autocast_dtype is not None),
        ):
            output = model.generate(  # pyright: ignore[reportCallIssue]
                input_ids=ids,
                attention_mask=mask,
                do_sample=True,
                temperature=1.0,
                top_k=0,
                top_p=1.0,
                min_new_tokens=NUM_ACTION_TOKENS,
                max_new_tokens=NUM_ACTION_TOKENS,
                pad_token_id=0,
                **setting,
            )
        actions: list[list[int]] = output[:, width:].tolist()
        contexts = [
            [*context, *action, *env.step(action).token_ids]
            for context, action, env in zip(contexts, actions, envs, strict=True)
        ]
    return sum(map(len, contexts))


def timed(play: Callable[[], int]) -> float:
    """Seconds of one round, which must see all the tokens it should."""
    start = time.perf_counter()
    num_tokens = play()
    elapsed_s = time.perf_counter() - start
    assert num_tokens > NUM_EPISODES * NUM_TURNS * (80 + NUM_ACTION_TOKENS)
    return elapsed_s


if __name__ == "__main__":
    main()
