"""Fully async against sync where environments are slow, and the engine in the loop against the engine alone.

First: WebShop with log-normal step times (p99/p50 ≥ 10), the learner's time within 30 % of the rollout's,
equal concurrency; episodes per second of the steps after the first two. Second: tokens per second of an
engine that 32 episodes of quick environments share, the learner idle, against the same prompts alone; in
process and vLLM (`make install-vllm`).
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import torch

from benchmarks.report import record, results_dir
from benchmarks.slow_webshop import ENV_ID, SIGMA
from molt_envs import TokenEnv
from molt_train.config import load_config
from molt_train.loop.run import train
from molt_train.model.load import WEBSHOP_BASE, load_model, load_tokenizer, model_folder
from molt_train.monitor.jsonl import read_rows
from molt_train.monitor.progress import Silent
from molt_train.rollout.chat_renderer import ChatRenderer
from molt_train.rollout.engine import Engine, EngineSession, Generation, Sampling
from molt_train.rollout.episode import EpisodeRequest
from molt_train.rollout.runner import RolloutRunner
from molt_train.rollout.transformers_engine import TransformersEngine

NAME = "async_speed"
MEDIAN_S = 0.06
NUM_TASKS, GROUP_SIZE, NUM_STEPS, NUM_FIRST = 4, 4, 12, 2
LEAST_RATIO, MOST_DIFFERENCE = 1.6, 0.3
NUM_AT_ONCE, NUM_ROUNDS, LEAST_SHARE = 32, 4, 0.9


def main() -> None:
    """Both claims."""
    torch.set_num_threads(1)
    slow_environments()
    asyncio.run(engine_in_the_loop("in_process", in_process_engine()))
    asyncio.run(engine_in_the_loop("vllm", vllm_engine()))


def slow_environments() -> None:
    """Sync and fully async runs with the same seed and concurrency."""
    folder = results_dir() / NAME
    shutil.rmtree(folder, ignore_errors=True)
    sync, overlapped = (_run(folder / mode, mode) for mode in ("sync", "fully_async"))
    learner_s = sum(row["update_s"] for row in sync)
    rollout_s = sum(row["step_s"] for row in sync) - learner_s
    ratio = sum(row["step_s"] for row in sync) / sum(row["step_s"] for row in overlapped)
    difference = abs(learner_s / rollout_s - 1)
    record(
        f"{NAME}.episodes",
        f"fully async ≥ {LEAST_RATIO}× the episodes/s of sync, learner ±{MOST_DIFFERENCE:.0%} of rollout",
        ratio, ratio >= LEAST_RATIO and difference <= MOST_DIFFERENCE,
        {"learner_s": learner_s, "rollout_s": rollout_s, "sigma": SIGMA, "median_s": MEDIAN_S,
         "sync": sync, "fully_async": overlapped},
    )  # fmt: skip


def _run(folder: Path, mode: str) -> list[dict[str, Any]]:
    """The timings of the steps after the first ones."""
    overrides = {
        "model.path": WEBSHOP_BASE, "run.dir": folder, "env.id": f"benchmarks.slow_webshop:{ENV_ID}",
        "env.kwargs": f"{{ page_size = 5, median_s = {MEDIAN_S} }}", "rollout.mode": mode,
        "rollout.deterministic": "false", "rollout.num_env_workers": 1, "rollout.num_tasks": NUM_TASKS,
        "rollout.group_size": GROUP_SIZE, "rollout.num_slots": NUM_TASKS * GROUP_SIZE, "train.num_steps":
        NUM_STEPS, "eval.num_tasks": 1, "eval.num_slots": 1, "run.num_samples": 0,
    }  # fmt: skip
    train(load_config("webshop", [f"{key}={value}" for key, value in overrides.items()]), Silent())
    return read_rows(folder / "timing.jsonl")[NUM_FIRST:]


class Recorder:
    """An engine that remembers every prompt of every session."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.sessions = engine, list[RecordingSession]()
        self.policy_version, self.max_context_tokens = 0, engine.max_context_tokens

    def open_session(self, order: int) -> EngineSession:
        """See `Engine`."""
        session = RecordingSession(self.engine.open_session(order))
        self.sessions.append(session)
        return session


class RecordingSession:
    """A session with its turns."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self.turns: list[tuple[Sequence[int], Sampling]] = []
        self.num_tokens = 0

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        """See `EngineSession`."""
        generation = await self._session.generate(prompt_ids, sampling)
        self.turns.append((list(prompt_ids), sampling))
        self.num_tokens += len(generation.token_ids)
        return generation

    def close(self) -> None:
        """See `EngineSession`."""
        self._session.close()


def in_process_engine() -> Engine:
    """Without deterministic scheduling, which waits for environments."""
    model, _ = load_model(WEBSHOP_BASE)
    return TransformersEngine(model, num_slots=NUM_AT_ONCE, max_context_tokens=1024, deterministic=False)


def vllm_engine() -> Engine:
    """Without a prefix cache, in which the prompts alone would find what the loop has computed."""
    from molt_train.rollout.vllm.engine import VllmEngine

    options = {"enable_prefix_caching": False}
    folder = model_folder(WEBSHOP_BASE)
    return VllmEngine(folder, max_context_tokens=1024, num_slots=NUM_AT_ONCE, options=options)


async def engine_in_the_loop(name: str, engine: Engine) -> None:
    """Alternating rounds: episodes, then their prompts alone."""
    await engine.start()
    renderer = ChatRenderer(load_tokenizer(WEBSHOP_BASE))
    sampling = Sampling(32, 0.8, renderer.stop_ids)
    recorder: Any = Recorder(engine)

    def make_env() -> TokenEnv:
        return TokenEnv(gymnasium.make("molt_envs:molt/WebShop-v0", page_size=5), renderer)

    loop_s = bare_s = 0.0
    loop_tokens = bare_tokens = 0
    with contextlib.closing(engine), RolloutRunner(recorder, make_env, NUM_AT_ONCE) as runner:
        for number in range(NUM_ROUNDS + 1):
            recorder.sessions.clear()
            requests = [
                EpisodeRequest(f"{number}/{index}", "molt/WebShop-v0", f"train:{index}", str(index), index)
                for index in range(number * 128, number * 128 + 128)
            ]
            begun = time.monotonic()
            await runner.run(requests, sampling)
            loop_one_s = time.monotonic() - begun
            played = list(recorder.sessions)
            begun = time.monotonic()
            alone = await _alone(engine, played)
            bare_one_s = time.monotonic() - begun
            if number:  # the first warms up
                loop_s, bare_s = loop_s + loop_one_s, bare_s + bare_one_s
                loop_tokens += sum(session.num_tokens for session in played)
                bare_tokens += alone
    share = (loop_tokens / loop_s) / (bare_tokens / bare_s)
    record(
        f"{NAME}.{name}", f"tokens/s in the loop ≥ {LEAST_SHARE} of the engine's alone on the same prompts",
        share, share >= LEAST_SHARE,
        {"loop_tokens_per_s": loop_tokens / loop_s, "bare_tokens_per_s": bare_tokens / bare_s},
    )  # fmt: skip


async def _alone(engine: Engine, played: Sequence[RecordingSession]) -> int:
    """The same turns, each session's one after another, 32 sessions at once; gives the tokens sampled."""
    waiting = list(enumerate(played))[::-1]
    num_tokens = 0

    async def work() -> None:
        nonlocal num_tokens
        while waiting:
            order, recorded = waiting.pop()
            session = engine.open_session(1_000_000 + order)
            for prompt_ids, sampling in recorded.turns:
                generation = await session.generate(prompt_ids, sampling)
                num_tokens += len(generation.token_ids)
            session.close()

    await asyncio.gather(*(work() for _ in range(NUM_AT_ONCE)))
    return num_tokens


if __name__ == "__main__":
    main()
