"""Runs one episode: engine and environment take turns, the recorder writes both down.

In: a request, an environment over tokens, an engine session. Out: an `Episode`, whatever happens on the way.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from molt_envs import Episode, EpisodeRecorder, SamplingRecord, TokenEnv, TokenStep
from molt_envs.errors import InfrastructureError, boundary
from molt_envs.protocol.episode import Outcome
from molt_train.data.tasks import derive_seed
from molt_train.rollout.engine import EngineSession, PromptTooLong, Sampling

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class EpisodeRequest:
    """An episode to run."""

    episode_id: str
    """Unique in the run."""
    env_id: str
    """The environment's registered id."""
    task_id: str
    """`split:index`."""
    group_id: str
    """Episodes that share a baseline."""
    seed: int
    """Seeds the environment's reset and, by turn, the sampling."""


@dataclass
class _State:
    """What is known of an episode while it runs."""

    info: Mapping[str, Any]
    outcome: Outcome = "unresolved"


async def run_episode(
    request: EpisodeRequest,
    env: TokenEnv,
    session: EngineSession,
    sampling: Sampling,
    executor: Executor,
    env_timeout_s: float,
) -> Episode:
    """Play one episode to its end.

    `sampling.seed` is replaced turn by turn by seeds derived from the request's. Environment calls run in
    `executor` and are given `env_timeout_s`. Errors become the outcome *failed* or *unresolved*; nothing is
    raised but cancellation.
    """
    recorder = EpisodeRecorder()
    state = _State({})
    with boundary() as result:
        state.outcome = await _play(request, env, session, sampling, executor, env_timeout_s, recorder, state)
        _check_score(state.info)
    outcome = state.outcome if result.failure is None else result.failure.outcome
    if outcome == "failed":
        recorder.settle()
    recorder.close("unresolved" if outcome == "unresolved" else "failed")
    resolved = outcome != "unresolved"
    return Episode(
        episode_id=request.episode_id,
        env_id=request.env_id,
        task_id=request.task_id,
        seed=request.seed,
        split=request.task_id.partition(":")[0],
        group_id=request.group_id,
        outcome=outcome,
        score=float(state.info.get("score", 0.0)) if resolved else None,
        success=bool(state.info.get("success", False)) if resolved else None,
        segments=recorder.segments(),
        sampling=SamplingRecord(sampling.temperature, sampling.max_tokens, request.seed),
        renderer_id=env.renderer.renderer_id,
        reason="" if result.failure is None else result.failure.reason,
    )


async def _play(
    request: EpisodeRequest,
    env: TokenEnv,
    session: EngineSession,
    sampling: Sampling,
    executor: Executor,
    env_timeout_s: float,
    recorder: EpisodeRecorder,
    state: _State,
) -> Outcome:
    async def call(what: str, function: Callable[[], _Result]) -> _Result:
        return await call_in_thread(
            f"{request.env_id} {what} of {request.task_id}", function, executor, env_timeout_s
        )

    context, state.info = await call(
        "reset", lambda: env.reset(seed=request.seed, options={"task_id": request.task_id})
    )
    recorder.open(context)
    turn = 0
    while True:
        try:
            generation = await session.generate(
                context, replace(sampling, seed=derive_seed(request.seed, turn))
            )
        except PromptTooLong:
            if turn == 0:
                raise
            recorder.close("length")
            return "length"
        recorder.action(
            generation.token_ids, generation.logprobs, generation.policy_versions, state.info.get("state_key")
        )
        if generation.stop_reason == "length":
            recorder.reward(0.0)
            recorder.close("length")
            return "length"
        step: TokenStep = await call("step", lambda ids=generation.token_ids: env.step(ids))
        state.info = step.info
        recorder.reward(step.reward)
        if step.terminated:
            recorder.close("terminated")
            return "terminated"
        if step.truncated:
            recorder.close("truncated", bootstrap_ids=step.token_ids)
            return "truncated"
        if step.rewritten:
            recorder.close("rewritten")
            recorder.open(step.token_ids)
            context = step.token_ids
        else:
            recorder.append(step.token_ids)
            context = [*context, *generation.token_ids, *step.token_ids]
        turn += 1


async def call_in_thread(
    what: str, function: Callable[[], _Result], executor: Executor, timeout_s: float
) -> _Result:
    """Run an environment's call off the event loop.

    Raises:
        InfrastructureError: it took longer than `timeout_s`; the message says what did.
    """
    future = asyncio.get_running_loop().run_in_executor(executor, function)
    try:
        # Not wait_for: in Python 3.11 it swallows a cancellation that arrives together with the result.
        async with asyncio.timeout(timeout_s):
            return await future
    except TimeoutError as error:
        raise InfrastructureError(f"{what} did not return within {timeout_s} s") from error


def _check_score(info: Mapping[str, Any]) -> None:
    """A score that is no number is the environment's failure: it costs one episode, not the run."""
    score = float(info.get("score", 0.0))
    if not math.isfinite(score):
        raise InfrastructureError(f"the environment reported the score {score}")
