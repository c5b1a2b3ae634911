"""Memory of 8 WebShop workers that share one catalogue, as a multiple of one process's."""

from __future__ import annotations

import gc
import multiprocessing
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Size:
    """Memory of one process."""

    anonymous_bytes: int
    """Proportional share of memory that no file backs: only forks of one process share it."""
    file_bytes: int
    """Resident pages of libraries."""
    pss_bytes: int
    """Proportional set size as the kernel reports it, libraries shared with unrelated processes."""


def main() -> None:
    """Measure one process by itself, then the workers of a server that loaded the catalogue, then forked.

    Libraries are counted whole, once for one process and once for all workers: what unrelated processes
    happen to share must not move the ratio. The server is not in the sum, but in the details.
    """
    one = _spawned(_one)[0]
    *workers, server = _spawned(_serve)
    libraries_bytes = max(worker.file_bytes for worker in workers)
    one_bytes = one.anonymous_bytes + one.file_bytes
    total_bytes = sum(worker.anonymous_bytes for worker in workers) + libraries_bytes
    ratio = total_bytes / one_bytes
    details = {
        "one_process_mib": one_bytes / 2**20,
        "workers_mib": total_bytes / 2**20,
        "server_anonymous_mib": server.anonymous_bytes / 2**20,
        "ratio_with_server": (total_bytes + server.anonymous_bytes) / one_bytes,
        "ratio_of_raw_pss": sum(worker.pss_bytes for worker in workers) / one.pss_bytes,
        "num_episodes_each": NUM_EPISODES,
    }
    record(NAME, "8 workers' summed PSS is at most 1.5 times one process's", ratio, ratio <= MOST, details)


def _spawned(target: object) -> list[Size]:
    """The sizes that a fresh process sends."""
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

    env = gymnasium.make("molt_envs:molt/WebShop-v0")
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
    pipe.send([_size()])


def _serve(pipe: Connection) -> None:
    """Load, play a little, freeze, fork; all workers measure while all are alive.

    What an interpreter writes when code first runs is then written before the fork, and shared.
    """
    env = _make()
    _play(env, NUM_WORKERS * NUM_EPISODES)
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
            pipe.send([*answers, _size()])
    for process in processes:
        process.join(TIMEOUT_S)


def _work(pipe: Connection, env: Env[str, str], number: int) -> None:
    while True:
        action = pipe.recv()
        if action == "play":
            import gymnasium

            _play(gymnasium.make("molt_envs:molt/WebShop-v0"), number * NUM_EPISODES)
        pipe.send(_size() if action == "measure" else None)
        if action == "end":
            return


def _size() -> Size:
    found: dict[str, int] = {}
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split(":")
        found[name] = int(value.split()[0]) * 1024
    rss, anonymous = found["Rss"], found["Anonymous"]
    return Size(found["Pss_Anon"], rss - anonymous, found["Pss"])
