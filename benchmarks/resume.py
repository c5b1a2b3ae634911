"""A run that is killed 20 times at random points and goes on writes the undisturbed run's bytes.

WebShop in sync mode with the in-process engine, a checkpoint at every step. The files compared hold every
number of every step (`metrics.jsonl`), every group trained on (`groups.jsonl`) and every evaluation.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.report import CHECKOUT, record, results_dir

NAME = "resume"
NUM_STEPS, NUM_KILLS = 60, 20
FILES = ("metrics.jsonl", "groups.jsonl", "evals.jsonl")
PAUSE_S = (0.5, 8.0)
"""From a start to its kill; the first seconds load the packages."""
PATIENCE_S = 1800.0


def main() -> None:
    """Both runs and the comparison."""
    folder = results_dir() / NAME
    shutil.rmtree(folder, ignore_errors=True)
    calm, killed = folder / "calm", folder / "killed"
    _start(calm).wait(PATIENCE_S)
    num_kills = kill_often(killed, NUM_KILLS, seed=0)
    same = [name for name in FILES if digest(calm / name) == digest(killed / name)]
    record(NAME, f"after {NUM_KILLS} kills {', '.join(FILES)} are the same bytes", ", ".join(same),
           same == list(FILES) and num_kills == NUM_KILLS,
           {"num_kills": num_kills, "sha256": {name: digest(killed / name) for name in FILES}})  # fmt: skip


def kill_often(folder: Path, num_kills: int, seed: int) -> int:
    """Run to the end with that many kills at random moments; gives how many there were."""
    rng = random.Random(seed)
    end = time.monotonic() + PATIENCE_S
    for count in range(num_kills):
        driver = _start(folder)
        steps_before = _num_steps(folder)
        # Every other kill waits for a step, so that some hit the start and most hit the work.
        while count % 2 and driver.poll() is None and _num_steps(folder) == steps_before:
            assert time.monotonic() < end
            time.sleep(0.02)
        time.sleep(rng.uniform(*PAUSE_S) / (8 if count % 2 else 1))
        if driver.poll() is not None:
            return count
        driver.kill()
        driver.wait()
        print(f"kill {count + 1} after {_num_steps(folder)} steps", flush=True)
    _start(folder).wait(PATIENCE_S)
    return num_kills


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _num_steps(folder: Path) -> int:
    file = folder / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def _start(folder: Path) -> subprocess.Popen[bytes]:
    overrides = {
        "model.path": "webshop-base", "run.dir": folder, "run.resume": "true", "run.checkpoint_every": 1,
        "run.num_samples": 0, "rollout.num_tasks": 2, "rollout.group_size": 4, "rollout.num_slots": 8,
        "rollout.max_turn_tokens": 16, "train.num_steps": NUM_STEPS, "eval.num_tasks": 8, "eval.num_slots": 8,
        "eval.every_steps": 10,
    }  # fmt: skip
    command = [sys.executable, "-m", "molt_train.cli", "run", "webshop", "--quiet"]
    return subprocess.Popen(
        [*command, *(f"{key}={value}" for key, value in overrides.items())],
        stdout=subprocess.DEVNULL, cwd=CHECKOUT, env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )  # fmt: skip


if __name__ == "__main__":
    main()
