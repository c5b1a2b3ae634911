"""What `TokenEnv` adds to a turn, net of environment and renderer; and that it encodes new text alone.

In: nothing. Out: two rows, from random WebShop episodes; time in `env.step` and the renderer is subtracted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

import gymnasium

from benchmarks.report import record
from molt_envs import ByteRenderer, Message, TokenEnv, ToolSchema

NAME = "token_env_overhead"
ENV_ID = "molt/WebShop-v0"
NUM_EPISODES = 60
NUM_WARM_UP_EPISODES = 5
MOST_ADDED_US = 50.0


class TimedEnv(gymnasium.Wrapper[str, str, str, str]):
    """Adds up the seconds spent in `step`."""

    step_s = 0.0

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        """The environment's step, timed."""
        start = time.perf_counter()
        result = self.env.step(action)
        self.step_s += time.perf_counter() - start
        return result


class TimedRenderer(ByteRenderer):
    """Adds up the seconds spent in the renderer and the text that it was given to encode."""

    def __init__(self) -> None:
        self.render_s = 0.0
        self.encoded: list[str] = []
        self.num_full_renders = 0

    def encode(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> list[int]:
        """A full render, counted and timed."""
        start = time.perf_counter()
        self.num_full_renders += 1
        ids = super().encode(messages, tools)
        self.render_s += time.perf_counter() - start
        return ids

    def extend(
        self,
        messages: Sequence[Message],
        sampled_ids: Sequence[int],
        new_messages: Sequence[Message],
        tools: Sequence[ToolSchema] = (),
    ) -> list[int] | None:
        """An appended render, timed."""
        start = time.perf_counter()
        ids = super().extend(messages, sampled_ids, new_messages, tools)
        self.encoded += [message.text for message in new_messages]
        self.render_s += time.perf_counter() - start
        return ids

    def parse(self, token_ids: Sequence[int]) -> Message:
        """A parse, timed."""
        start = time.perf_counter()
        message = super().parse(token_ids)
        self.render_s += time.perf_counter() - start
        return message


@dataclass
class Measured:
    """What random episodes gave."""

    added_us: list[float] = field(default_factory=list[float])
    """Microseconds of each turn that neither the environment nor the renderer took."""
    num_full_renders: int = 0
    """Full renders after a reset's own."""
    num_wrong_appends: int = 0
    """Turns in which something else than the new observation was encoded."""


def measure(env_id: str, num_episodes: int, num_warm_up_episodes: int) -> Measured:
    """Play random episodes and time every turn."""
    timed, renderer, rng = TimedEnv(gymnasium.make(env_id)), TimedRenderer(), random.Random(0)
    env, measured = TokenEnv(timed, renderer), Measured()
    for episode in range(num_warm_up_episodes + num_episodes):
        _, info = env.reset(seed=episode)
        renderer.num_full_renders = 0
        over = False
        while not over:
            actions = info.get("admissible_actions") or (env.card.grammar.example,)
            sampled = renderer.write(Message("assistant", rng.choice(actions)))
            timed.step_s, renderer.render_s, renderer.encoded = 0.0, 0.0, []
            start = time.perf_counter()
            step = env.step(sampled)
            added_s = time.perf_counter() - start - timed.step_s - renderer.render_s
            info, over = step.info, step.terminated or step.truncated
            if episode >= num_warm_up_episodes:
                measured.added_us.append(added_s * 1e6)
                wanted = [] if step.terminated else [env.messages[-1].text]
                measured.num_wrong_appends += renderer.encoded != wanted
        measured.num_full_renders += renderer.num_full_renders
    env.close()
    return measured


def main() -> None:
    """Measure and record."""
    measured = measure(ENV_ID, NUM_EPISODES, NUM_WARM_UP_EPISODES)
    added_us = mean(measured.added_us)
    record(
        f"{NAME}.added_time",
        f"at most {MOST_ADDED_US:g} µs a turn, mean, net of environment and renderer",
        added_us,
        added_us <= MOST_ADDED_US,
        {"median_us": median(measured.added_us), "num_turns": len(measured.added_us), "env_id": ENV_ID},
    )
    wrong = measured.num_wrong_appends + measured.num_full_renders
    record(
        f"{NAME}.appended_only",
        "0 turns in which anything but the new observation was encoded",
        wrong,
        wrong == 0,
        {"num_full_renders": measured.num_full_renders, "num_turns": len(measured.added_us)},
    )
