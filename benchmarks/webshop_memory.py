"""Memory of the 8 WebShop workers of an `AsyncVectorEnv`, as a multiple of one process's."""

from __future__ import annotations

import multiprocessing
import os
import random
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.report import record

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
    """Resident pages of libraries and files."""
    pss_bytes: int
    """Proportional set size as the kernel reports it, libraries shared with unrelated processes."""
    private_bytes: int
    """What no other process shares."""


def main() -> None:
    """Measure one process by itself, then the workers, all alive, after they have played as much each.

    Two rows for each way to start them. A process's PSS counts a page of a library less the more unrelated
    processes happen to map it, which moves the plain ratio; so libraries are also counted whole, once for one
    process and once for all workers. With the parent, or the server, included: in the details.
    """
    one = _spawned(_one)[0]
    one_bytes = one.anonymous_bytes + one.file_bytes
    details: dict[str, object] = {
        "one_process_mib": one_bytes / 2**20,
        "plain_pss_of_one_mib": one.pss_bytes / 2**20,
        "num_episodes_each": NUM_EPISODES,
    }
    for name, target in (("fork", _forked), ("forkserver", _served)):
        *workers, parent = _spawned(target)
        libraries_bytes = max(worker.file_bytes for worker in workers)
        total_bytes = sum(worker.anonymous_bytes for worker in workers) + libraries_bytes
        details[name] = {
            "ratio_with_parent": (total_bytes + parent.anonymous_bytes) / one_bytes,
            "workers_mib": total_bytes / 2**20,
            "private_mib_of_each": [worker.private_bytes / 2**20 for worker in workers],
        }
        plain = sum(worker.pss_bytes for worker in workers) / one.pss_bytes
        for claim, counted, ratio in (
            (name, "libraries counted once", total_bytes / one_bytes),
            (f"{name}_plain_pss", "plain summed PSS", plain),
        ):
            target_text = f"8 workers of {name}, {counted}: at most {MOST} times one process"
            record(f"{NAME}.{claim}", target_text, ratio, ratio <= MOST, details)


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


def _one(pipe: Connection) -> None:
    """One environment in one process, playing at random."""
    import gymnasium

    env = gymnasium.make("molt_envs:molt/WebShop-v0", disable_env_checker=True)
    rng, num_ended = random.Random(0), 0
    _, info = env.reset(seed=0)
    while num_ended < NUM_EPISODES:
        _, _, terminated, truncated, info = env.step(rng.choice(info["admissible_actions"] or ("-",)))
        if terminated or truncated:
            num_ended += 1
            _, info = env.reset()
    pipe.send([_size(os.getpid())])


def _forked(pipe: Connection) -> None:
    """Load, play a little, freeze; then a vector environment whose workers are forks."""
    import benchmarks.webshop_preload  # noqa: F401

    _vector(pipe, "fork")


def _served(pipe: Connection) -> None:
    """The same with a server of the standard library that forks the workers."""
    multiprocessing.set_forkserver_preload(["benchmarks.webshop_preload"])
    _vector(pipe, "forkserver")


def _vector(pipe: Connection, context: str) -> None:
    """Each worker plays as much as the one process."""
    import gymnasium
    from gymnasium.vector import AsyncVectorEnv

    def make() -> gymnasium.Env[str, str]:
        return gymnasium.make("molt_envs:molt/WebShop-v0", disable_env_checker=True)

    envs = AsyncVectorEnv([make] * NUM_WORKERS, context=context, shared_memory=False)
    rng, num_ended = random.Random(0), 0
    _, infos = envs.reset(seed=0)
    while num_ended < NUM_EPISODES * NUM_WORKERS:
        actions = tuple(rng.choice(listed or ("-",)) for listed in infos["admissible_actions"])
        _, _, terminated, truncated, infos = envs.step(actions)
        num_ended += int(terminated.sum() + truncated.sum())
    workers = [process.pid for process in envs.processes if process.pid is not None]
    server = int(Path(f"/proc/{workers[0]}/stat").read_text().split()[3])
    pipe.send([_size(pid) for pid in (*workers, server)])
    envs.close()


def _size(pid: int) -> Size:
    found: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split(":")
        found[name] = int(value.split()[0]) * 1024
    private = found["Private_Clean"] + found["Private_Dirty"]
    return Size(found["Pss_Anon"], found["Rss"] - found["Anonymous"], found["Pss"], private)


if __name__ == "__main__":
    main()
