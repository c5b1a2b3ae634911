"""A run whose engine, workers and driver are killed or stopped 60 times ends as if nothing had been.

WebShop through vLLM, fully async, with environments in worker processes and a checkpoint at every step. At
random moments an engine, a worker or the driver gets SIGKILL (the driver is started again and resumes), or an
engine or a worker is stopped, so that it hangs. Then: the run ended, every task was trained on exactly
once, no group had a row that was not played, rewards are those of the undisturbed run. Needs vLLM (`make
install-vllm`).
"""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks.report import CHECKOUT, record, results_dir
from molt_train.monitor.jsonl import read_rows
from sandboxes.attack import leftovers

NAME = "chaos"
NUM_STEPS, NUM_TASKS, GROUP_SIZE = 90, 4, 2
EVENTS = ("kill engine",) * 20 + ("kill worker",) * 20 + ("kill driver",) * 10 + (
    "hang engine",) * 4 + ("hang worker",) * 6  # fmt: skip
PAUSE_S = (0.2, 2.5)
"""Between two looks; an event comes after at least one more step."""
PATIENCE_S = 3600.0
Z_95 = 1.96


def main() -> None:
    """The undisturbed run, the disturbed one, the verdicts."""
    folder = results_dir() / NAME
    shutil.rmtree(folder, ignore_errors=True)
    calm = disturb(folder / "calm", NUM_STEPS, (), seed=0)
    chaos = disturb(folder / "chaos", NUM_STEPS, EVENTS, seed=1)
    record(f"{NAME}.events", f"{len(EVENTS)} kills and hangs, and the run ends", len(chaos.done),
           len(chaos.done) == len(EVENTS) and not chaos.faults, vars(chaos))  # fmt: skip
    record(f"{NAME}.tasks", "every task once, no row made up, nothing left running", len(chaos.faults),
           not chaos.faults and not calm.faults, {"chaos": chaos.faults, "calm": calm.faults})  # fmt: skip
    difference = abs(mean(chaos.rewards) - mean(calm.rewards))
    bound = Z_95 * math.hypot(*(stdev(run.rewards) / math.sqrt(len(run.rewards)) for run in (calm, chaos)))
    record(f"{NAME}.rewards", "mean reward within the 95 % interval of the undisturbed run", difference,
           difference <= bound, {"bound": bound})  # fmt: skip


@dataclass
class Outcome:
    """What became of a run."""

    done: list[str]
    """Events that took place."""
    faults: list[str]
    """What should not be, in words."""
    rewards: list[float]
    """Mean reward of each group."""


def disturb(folder: Path, num_steps: int, events: Sequence[str], seed: int) -> Outcome:
    """Run to the end with these events in random order at random moments."""
    rng = random.Random(seed)
    waiting = rng.sample(list(events), len(events))
    done: list[str] = []
    seen: set[tuple[int, str]] = set()
    end = time.monotonic() + PATIENCE_S
    last_step = 0
    driver = _start(folder, num_steps)
    try:
        while driver.poll() is None or driver.returncode == -signal.SIGKILL:
            if time.monotonic() > end:
                raise TimeoutError(f"the run did not end within {PATIENCE_S} s")
            if driver.poll() is not None:
                driver = _start(folder, num_steps)
            time.sleep(rng.uniform(*PAUSE_S))
            seen |= leftovers.descendants(driver.pid)
            num_done = len(read_rows(folder / "metrics.jsonl"))
            may_act = num_done > last_step and driver.poll() is None
            if waiting and may_act and (pid := _victim(waiting[-1], driver.pid, rng)):
                last_step = num_done
                event = waiting.pop()
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP if event.startswith("hang") else signal.SIGKILL)
                    done.append(event)
                    print(f"{num_done:4d} steps  {event}", flush=True)
                if event == "kill driver":
                    driver.wait()
    finally:
        driver.kill()
    faults = record_faults(folder, num_steps)
    if driver.returncode != 0:
        faults.append(f"the run ended with status {driver.returncode}")
    faults += [_with_title(left) for left in leftovers.settle(lambda: leftovers.still_alive(seen), 20)]
    rows = read_rows(folder / "groups.jsonl")
    return Outcome(done, faults, [row["reward_sum"] / row["num_episodes"] for row in rows])


def _start(folder: Path, num_steps: int) -> subprocess.Popen[bytes]:
    overrides = {
        "model.path": "webshop-base", "run.dir": folder, "run.resume": "true", "run.checkpoint_every": 1,
        "run.num_samples": 0, "rollout.engine": "vllm", "rollout.mode": "fully_async",
        "rollout.num_tasks": NUM_TASKS, "rollout.group_size": GROUP_SIZE, "rollout.num_slots": 16,
        "rollout.num_env_workers": 2, "rollout.timeout_s": 5, "rollout.turn_timeout_s": 20,
        "rollout.num_retries": 50, "rollout.max_turn_tokens": 16, "rollout.max_context_tokens": 640,
        "train.num_steps": num_steps, "eval.num_tasks": 4, "eval.num_slots": 4, "optimizer.lr": 1e-5,
    }  # fmt: skip
    command = [sys.executable, "-m", "molt_train.cli", "run", "webshop", "--quiet"]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.log").open("ab") as log:
        return subprocess.Popen(
            [*command, *(f"{key}={value}" for key, value in overrides.items())],
            stdout=log, stderr=log, cwd=CHECKOUT, env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        )  # fmt: skip


def _victim(event: str, driver: int, rng: random.Random) -> int | None:
    """A process of the kind below the driver, if one runs."""
    kind = event.partition(" ")[2]
    if kind == "driver":
        return driver
    mark = b"EngineCore" if kind == "engine" else b"molt_envs.workers.child"
    found: list[int] = []
    for pid, _ in leftovers.descendants(driver):
        with suppress(OSError):
            if mark in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return rng.choice(found) if found else None


def _with_title(process: str) -> str:
    with suppress(OSError):
        folder = Path(f"/proc/{process.split()[1]}")
        title = folder.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        state, parent = folder.joinpath("stat").read_text().rpartition(")")[2].split()[:2]
        return f"{process} (state {state}, parent {parent}) runs still: {title[:200]}"
    return process


def record_faults(folder: Path, num_steps: int) -> list[str]:
    """What the records say that should not be."""
    rows: list[dict[str, Any]] = read_rows(folder / "groups.jsonl")
    steps = [row["step"] for row in read_rows(folder / "metrics.jsonl")]
    tasks = Counter(row["task_id"] for row in rows)
    groups = Counter(row["group_id"] for row in rows)
    faults = [f"task {name} was trained on {count} times" for name, count in tasks.items() if count != 1]
    faults += [f"group {name} was trained on {count} times" for name, count in groups.items() if count != 1]
    faults += [
        f"group {row['group_id']} has {row['num_episodes']} episodes, {row['num_unresolved']} unresolved"
        for row in rows
        if row["num_episodes"] != GROUP_SIZE or row["num_unresolved"]
    ]
    if steps != list(range(1, num_steps + 1)) or len(rows) != num_steps * NUM_TASKS:
        faults.append(
            f"{len(steps)} steps and {len(rows)} groups; {num_steps} and {num_steps * NUM_TASKS} due"
        )
    return faults


if __name__ == "__main__":
    main()
