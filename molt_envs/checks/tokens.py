"""Checks of an environment over tokens: ids are only appended, and the masks cover what was sampled.

In: a `TokenEnv`. Out: `Findings`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from molt_envs.checks.findings import CheckFailed, Findings, require
from molt_envs.errors import EpisodeDone
from molt_envs.history import Full
from molt_envs.protocol.episode import Segment
from molt_envs.protocol.messages import Message
from molt_envs.recorder import EpisodeRecorder
from molt_envs.token_env import TokenEnv

Act = Callable[[TokenEnv], str]
"""Chooses the text to say next."""


@dataclass
class _Walk:
    """One episode's ids, turn by turn, as the environment over tokens gave them."""

    prompts: list[list[int]] = field(default_factory=list[list[int]])
    full_renders: list[list[int]] = field(default_factory=list[list[int]])
    sampled: list[list[int]] = field(default_factory=list[list[int]])
    segments: tuple[Segment, ...] = ()
    over: bool = False


def check_token_env(env: TokenEnv, seed: int = 0, act: Act | None = None, num_turns: int = 20) -> Findings:
    """Play one episode of at most `num_turns` turns and check its ids.

    Args:
        env: the environment over tokens; it is reset.
        seed: the episode's seed.
        act: what to say; by default the grammar's example.
        num_turns: most turns to play.
    """
    findings = Findings()
    walk = _Walk()
    findings.run("an episode can be played", lambda: _play(env, seed, act or _example, num_turns, walk))
    if not findings[0].ok:
        return findings
    findings.run("incremental ids equal a full render", lambda: _check_full(env, walk))
    findings.run("masks cover the sampled ids and nothing else", lambda: _check_masks(walk))
    findings.run("same seed, same ids", lambda: _check_same(env, seed, act or _example, num_turns, walk))
    if walk.over:
        findings.run("a step after the end is an error", lambda: _check_step_after_end(env))
    return findings


def _example(env: TokenEnv) -> str:
    return env.card.grammar.example


def _play(env: TokenEnv, seed: int, act: Act, num_turns: int, walk: _Walk) -> None:
    recorder = EpisodeRecorder()
    prompt, _ = env.reset(seed=seed)
    recorder.open(prompt)
    for _ in range(num_turns):
        walk.prompts.append(list(prompt))
        walk.full_renders.append(env.renderer.encode(list(env.history.view(env.messages)), env.card.tools))
        sampled = env.renderer.write(Message("assistant", act(env)))
        walk.sampled.append(sampled)
        recorder.action(sampled, [-1.0] * len(sampled), [0] * len(sampled))
        step = env.step(sampled)
        if step.terminated or step.truncated:
            walk.over = True
            break
        if step.rewritten:
            recorder.close("rewritten")
            recorder.open(step.token_ids)
            prompt = list(step.token_ids)
        else:
            recorder.append(step.token_ids)
            prompt = [*prompt, *sampled, *step.token_ids]
    recorder.close("terminated")
    walk.segments = recorder.segments()


def _check_full(env: TokenEnv, walk: _Walk) -> None:
    # Sampled ids are what `write` gives here, so a format that never rewrites must meet its own full render.
    for turn, (prompt, full) in enumerate(zip(walk.prompts, walk.full_renders, strict=True)):
        pairs = zip(prompt, full, strict=False)
        place = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(prompt), len(full)))
        require(
            prompt == full,
            f"turn {turn}, token {place}: prompt has {len(prompt)} ids, a full render {len(full)}",
        )
    if isinstance(env.history, Full):
        require(len(walk.segments) >= 1, "no segment was recorded")


def _check_masks(walk: _Walk) -> None:
    turns = [
        segment.token_ids[start:end].tolist()
        for segment in walk.segments
        for start, end in segment.action_ranges
    ]
    require(turns == walk.sampled, "the action ranges do not hold the ids that were sampled")
    prompts = [
        segment.token_ids[:start].tolist() for segment in walk.segments for start, _ in segment.action_ranges
    ]
    require(prompts == walk.prompts, "what precedes an action is not the prompt that it was sampled from")


def _check_same(env: TokenEnv, seed: int, act: Act, num_turns: int, walk: _Walk) -> None:
    again = _Walk()
    _play(env, seed, act, num_turns, again)
    require(again.prompts == walk.prompts, "a second episode with the same seed has other prompts")


def _check_step_after_end(env: TokenEnv) -> None:
    try:
        env.step(env.renderer.write(Message("assistant", "more")))
    except EpisodeDone:
        return
    raise CheckFailed("step() after the end gave a result")
