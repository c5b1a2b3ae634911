"""Memory of 8 WebShop workers that share one catalogue, as a multiple of one process's."""

from __future__ import annotations

import gc
import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import record

if TYPE_CHECKING:
    from gymnasium import Env

NAME = "webshop_memory"
MOST = 1.5
NUM_WORKERS = 8
NUM_EPISODES = 20
TIMEOUT_S = 120.0


def main() -> None:
    """Measure one process by itself, then the workers of a server that loaded the catalogue, then forked.

    Proportional set sizes (PSS) count a page that n processes share as 1/n in each. The server's own share is
    in the details, not in the sum.
    """
    alone = _spawned(_one)[0]
    *workers, server = _spawned(_serve)
    ratio = sum(workers) / alone
    details = {
        "one_process_mib": alone / 2**20,
        "workers_mib": [size / 2**20 for size in workers],
        "server_mib": server / 2**20,
        "ratio_with_server": (sum(workers) + server) / alone,
        "num_episodes_each": NUM_EPISODES,
    }
    record(NAME, "8 workers' summed PSS is at most 1.5 times one process's", ratio, ratio <= MOST, details)


def _spawned(target: object) -> list[int]:
    """The sizes that a fresh process sends, in bytes."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=target, args=(there,))  # type: ignore[arg-type]
    process.start()
    there.close()
    if not here.poll(TIMEOUT_S):
        process.kill()
        raise TimeoutError(f"no answer from {target} within {TIMEOUT_S:.0f} s")
    sizes = here.recv()
    process.join(TIMEOUT_S)
    return sizes


def _make() -> Env[str, str]:
    import gymnasium

    env = gymnasium.make("molt/WebShop-v0")
    env.reset(seed=0)
    return env


def _play(env: Env[str, str], first: int) -> None:
    """Half of the episodes by the oracle, half at random."""
    from molt_envs.families.webshop.oracle import RandomPolicy

    for number in range(first, first + NUM_EPISODES):
        observation, info = env.reset(options={"task_id": f"train:{number}"})
        policy = env.unwrapped.oracle() if number % 2 else RandomPolicy(number)  # type: ignore[attr-defined]
        ended = False
        while not ended:
            observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
            ended = terminated or truncated


def _one(pipe: Connection) -> None:
    env = _make()
    _play(env, 0)
    pipe.send([_pss_bytes()])


def _serve(pipe: Connection) -> None:
    """Load, freeze, fork; all workers measure while all are alive."""
    env = _make()
    gc.collect()
    gc.freeze()
    context = multiprocessing.get_context("fork")
    pipes: list[Connection] = []
    processes = []
    for number in range(NUM_WORKERS):
        here, there = context.Pipe()
        processes.append(context.Process(target=_work, args=(there, env, number)))
        processes[-1].start()
        pipes.append(here)
    for action in ("play", "measure", "end"):
        for here in pipes:
            here.send(action)
        answers = [here.recv() for here in pipes]
        if action == "measure":
            pipe.send([*answers, _pss_bytes()])
    for process in processes:
        process.join(TIMEOUT_S)


def _work(pipe: Connection, env: Env[str, str], number: int) -> None:
    while True:
        action = pipe.recv()
        if action == "play":
            import gymnasium

            _play(gymnasium.make("molt/WebShop-v0"), number * NUM_EPISODES)
        pipe.send(_pss_bytes() if action == "measure" else 0)
        if action == "end":
            return


def _pss_bytes() -> int:
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no Pss in /proc/self/smaps_rollup")
