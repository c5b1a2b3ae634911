"""Plays one episode and writes down what happened.

In: an environment, a policy source, a task. Out: an `EpisodeRecord`, whatever happens on the way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium

from molt_envs.env import TextEnv
from molt_envs.errors import InfrastructureError, boundary
from molt_envs.evaluate.policy import ChatPolicy, ContextFull, EpisodeStart, Limits, PolicySource, Reply
from molt_envs.evaluate.record import EpisodeRecord, TurnRecord
from molt_envs.policy import Policy
from molt_envs.protocol.episode import Outcome
from molt_envs.protocol.images import Observation, describe


@dataclass(frozen=True)
class Job:
    """An episode to play."""

    env_id: str
    """The environment's registered id."""
    task_id: str
    """`split:index`."""
    sample: int
    """Which attempt at the task, from 0."""
    seed: int
    """For `reset` and the policy."""

    @property
    def episode_id(self) -> str:
        """Its name in the file of results."""
        return f"{self.env_id}#{self.task_id}#{self.sample}"


@dataclass
class _Played:
    """What is known of an episode while it runs."""

    observation: str = ""
    turns: list[TurnRecord] = field(default_factory=list[TurnRecord])
    outcome: Outcome = "unresolved"


def play_episode(
    env: gymnasium.Env[str, str], source: PolicySource, job: Job, limits: Limits, policy_name: str
) -> EpisodeRecord:
    """Play one episode to its end. Errors become the outcome *failed* or *unresolved*; none is raised."""
    played = _Played()
    base = env.unwrapped
    prompt = base.card.system_prompt if isinstance(base, TextEnv) else ""
    with boundary() as result:
        if not isinstance(base, TextEnv):
            raise InfrastructureError(f"{type(base).__name__} is not an environment of text tasks")
        _play(env, base, source, job, limits, played)
    outcome = played.outcome if result.failure is None else result.failure.outcome
    last = played.turns[-1] if played.turns else TurnRecord("", "", None)
    resolved = outcome != "unresolved"
    return EpisodeRecord(
        episode_id=job.episode_id,
        env_id=job.env_id,
        task_id=job.task_id,
        sample=job.sample,
        seed=job.seed,
        policy=policy_name,
        outcome=outcome,
        score=last.score if resolved else None,
        success=last.success if resolved else None,
        reason="" if result.failure is None else result.failure.reason,
        system_prompt=prompt,
        observation=played.observation,
        turns=tuple(played.turns),
    )


def _play(
    env: gymnasium.Env[str, str],
    base: TextEnv,
    source: PolicySource,
    job: Job,
    limits: Limits,
    played: _Played,
) -> None:
    observation, info = env.reset(seed=job.seed, options={"task_id": job.task_id})
    played.observation = describe(observation)
    policy = source.start(EpisodeStart(base, job.task_id, job.seed, limits))
    try:
        while played.outcome == "unresolved":
            observation, info = _turn(env, base, policy, observation, info, played)
    finally:
        if isinstance(policy, ChatPolicy):
            policy.close()


def _turn(
    env: gymnasium.Env[str, str],
    base: TextEnv,
    policy: Policy,
    observation: Observation,
    info: Mapping[str, Any],
    played: _Played,
) -> tuple[Observation, Mapping[str, Any]]:
    """One turn; sets the outcome when it is the last."""
    try:
        reply = _reply(policy, observation, info)
    except ContextFull:
        if not played.turns:
            raise
        played.outcome = "length"
        return observation, info
    if reply.was_cut:
        played.outcome = "length"
        played.turns.append(_record(reply, None, info))
        return observation, info
    observation, reward, terminated, truncated, info = env.step(reply.action)
    turn = _record(reply, describe(observation), info)
    turn = replace(turn, reward=float(reward), terminated=bool(terminated), truncated=bool(truncated))
    played.turns.append(turn)
    if terminated or truncated:
        played.outcome = "terminated" if terminated else "truncated"
    return observation, info


def _reply(policy: Policy, observation: Observation, info: Mapping[str, Any]) -> Reply:
    if isinstance(policy, ChatPolicy):
        return policy.reply(observation, info)
    action = policy.act(observation, info)
    return Reply(action, action)


def _record(reply: Reply, observation: str | None, info: Mapping[str, Any]) -> TurnRecord:
    """The turn with its result; a score that is no number is the environment's failure."""
    score = float(info.get("score", 0.0))
    if not math.isfinite(score):
        raise InfrastructureError(f"the environment reported the score {score}")
    return TurnRecord(
        message=reply.message,
        action="" if observation is None else reply.action,
        observation=observation,
        score=score,
        success=bool(info.get("success", False)),
        num_prompt_tokens=reply.num_prompt_tokens,
        num_completion_tokens=reply.num_completion_tokens,
    )
