"""WebShop trained on a Ray cluster of three nodes, two of which are cut off and come back.

Three network namespaces with addresses of their own hold the learner with the driver, the environments and
the engine (`scripts/three_nodes.sh`: root and iproute2). The link of the environments' node is cut in the
middle of the run and comes back with a fresh node, then the engine's. The run ends, with every task trained
on once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.chaos import GROUP_SIZE, NUM_TASKS, record_faults
from benchmarks.report import CHECKOUT, record, results_dir
from molt_train.monitor.jsonl import read_rows

NAME = "three_nodes"
NUM_STEPS, STEPS_BETWEEN = 24, 4
CUT_S = 15.0
PATIENCE_S = 1200.0


def main() -> None:
    """The cluster, the run, the two cuts, the verdict."""
    folder = results_dir() / NAME
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    events: list[tuple[str, int]] = []
    _nodes("down")
    try:
        _nodes("up")
        driver = _start(folder / "run")
        for name in ("env", "engine"):
            due = _num_steps(folder / "run") + STEPS_BETWEEN
            _wait(driver, folder / "run", due)
            _nodes("cut", name)
            events.append((f"{name} cut", _num_steps(folder / "run")))
            time.sleep(CUT_S)
            _nodes("join", name)
            events.append((f"{name} back", _num_steps(folder / "run")))
        status = driver.wait(PATIENCE_S)
    finally:
        _nodes("down")
    faults = record_faults(folder / "run", NUM_STEPS)
    if status != 0:
        faults.append(f"the run ended with status {status}; see {folder / 'driver.log'}")
    record(NAME, "two nodes cut off and back: the run ends, every task trained on once", len(faults),
           not faults, {"faults": faults, "events": events})  # fmt: skip


def _nodes(*arguments: str) -> None:
    environment = {**os.environ, "PYTHON": sys.executable}
    command = ["sh", str(CHECKOUT / "scripts" / "three_nodes.sh"), *arguments]
    subprocess.run(
        command, env=environment, check=True, timeout=120, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )


def _start(folder: Path) -> subprocess.Popen[bytes]:
    overrides = {
        "model.path": "webshop-base", "run.dir": folder, "run.num_samples": 0,
        "cluster.enabled": "true", "cluster.address": "10.77.0.1:6379", "cluster.roles": "true",
        "cluster.call_timeout_s": 60, "rollout.mode": "fully_async",
        "rollout.num_tasks": NUM_TASKS, "rollout.group_size": GROUP_SIZE, "rollout.num_slots": 16,
        "rollout.num_env_workers": 2, "rollout.num_retries": 50, "rollout.max_turn_tokens": 16,
        "rollout.max_context_tokens": 640, "train.num_steps": NUM_STEPS, "eval.num_tasks": 4,
        "eval.num_slots": 4, }  # fmt: skip
    command = [
        "ip",
        "netns",
        "exec",
        "molt-learner",
        sys.executable,
        "-m",
        "molt_train.cli",
        "run",
        "webshop",
    ]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "RAY_AUTH_MODE": "token"}
    with (folder.parent / "driver.log").open("wb") as log:
        return subprocess.Popen(
            [*command, "--quiet", *(f"{key}={value}" for key, value in overrides.items())],
            stdout=log, stderr=log, cwd=CHECKOUT, env=environment,
        )  # fmt: skip


def _num_steps(folder: Path) -> int:
    return len(read_rows(folder / "metrics.jsonl"))


def _wait(driver: subprocess.Popen[bytes], folder: Path, num_steps: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while _num_steps(folder) < num_steps:
        if driver.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the run ended or stalled before step {num_steps}; see {folder.parent}")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
