"""A WebShop step and a search, as multiples of a CartPole-v1 step in the same run."""

from __future__ import annotations

import random
import time
from statistics import mean, median

import gymnasium

from benchmarks.report import record
from molt_envs.families.webshop.env import WebShopEnv
from molt_envs.families.webshop.oracle import RandomPolicy, instruction_of
from molt_envs.policy import Policy

NAME = "webshop_speed"
MOST_STEP, MOST_SEARCH = 10.0, 30.0
NUM_ROUNDS = 40
NUM_EPISODES_A_ROUND = 5


def main() -> None:
    """Interleave the three, so that a slow moment of the machine falls on all of them."""
    cart, shop = gymnasium.make("CartPole-v1"), gymnasium.make("molt_envs:molt/WebShop-v0")
    cart_s: list[float] = []
    step_s: list[float] = []
    search_s: list[float] = []
    for number in range(NUM_ROUNDS):
        cart_s += _cart_steps(cart, number)
        for episode in range(number * NUM_EPISODES_A_ROUND, (number + 1) * NUM_EPISODES_A_ROUND):
            for policy in ("oracle", "random"):
                step_s += _episode(shop, policy, episode)
            search_s += _searches(shop, episode)
    cart_step_s = mean(cart_s)
    step_ratio, search_ratio = mean(step_s) / cart_step_s, median(search_s) / cart_step_s
    details = {
        "cart_step_us": cart_step_s * 1e6,
        "step_us": mean(step_s) * 1e6,
        "search_p50_us": median(search_s) * 1e6,
        "num_steps": len(step_s),
    }
    most = "a mean step costs at most 10 CartPole steps"
    record(f"{NAME}.step", most, step_ratio, step_ratio <= MOST_STEP, details)
    most = "a search at p50 costs at most 30 CartPole steps"
    record(f"{NAME}.search", most, search_ratio, search_ratio <= MOST_SEARCH, details)


def _cart_steps(env: gymnasium.Env[object, object], seed: int) -> list[float]:
    env.reset(seed=seed)
    rng = random.Random(seed)
    times: list[float] = []
    for _ in range(200):
        action = rng.randrange(2)
        start = time.perf_counter()
        _, _, terminated, truncated, _ = env.step(action)
        times.append(time.perf_counter() - start)
        if terminated or truncated:
            env.reset()
    return times


def _episode(env: gymnasium.Env[str, str], name: str, seed: int) -> list[float]:
    """Seconds of each step of one episode, the policy's own time apart."""
    observation, info = env.reset(options={"task_id": f"train:{seed}"})
    shop = env.unwrapped
    assert isinstance(shop, WebShopEnv)
    policy: Policy = shop.oracle(seed) if name == "oracle" else RandomPolicy(seed)
    times: list[float] = []
    while True:
        action = policy.act(observation, info)
        start = time.perf_counter()
        observation, _, terminated, truncated, info = env.step(action)
        times.append(time.perf_counter() - start)
        if terminated or truncated:
            return times


def _searches(env: gymnasium.Env[str, str], seed: int) -> list[float]:
    """Seconds of searches that no cache has seen: words of an instruction, in a random order."""
    observation, _ = env.reset(options={"task_id": f"validation:{seed}"})
    words = instruction_of(observation).split()
    rng = random.Random(seed)
    times: list[float] = []
    for _ in range(5):
        action = f"search[{' '.join(rng.sample(words, min(8, len(words))))}]"
        start = time.perf_counter()
        env.step(action)
        times.append(time.perf_counter() - start)
    return times
