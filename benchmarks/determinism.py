"""A run repeated with one seed writes the same metrics, byte for byte; four processes play the same
episodes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import record
from molt_train.config import load_config
from molt_train.loop.run import train
from molt_train.monitor.progress import Silent

NAME = "determinism"
FILES = ("metrics.jsonl", "evals.jsonl")
EPISODES = """
import hashlib, gymnasium, molt_envs
env, seen = gymnasium.make("molt/WebShop-v0"), hashlib.sha256()
for seed in range(50):
    observation, info = env.reset(seed=seed)
    policy, done = env.unwrapped.oracle(seed=seed, noise=0.3), False
    while not done:
        action = policy.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(action)
        seen.update(repr((observation, action, reward, sorted(info.items(), key=str))).encode())
        done = terminated or truncated
print(seen.hexdigest())
"""


def main() -> None:
    """Both claims."""
    with tempfile.TemporaryDirectory() as folder:
        digests = [_run(Path(folder) / name) for name in ("first", "second")]
    same = digests[0] == digests[1]
    record(f"{NAME}.runs", "two runs with one seed write equal bytes", same, same, {"sha256": digests})
    hashes = [_play(seed) for seed in ("0", "1", "77", "random")]
    equal = len(set(hashes)) == 1
    record(
        f"{NAME}.processes",
        "4 processes with other hash seeds play equal episodes",
        equal,
        equal,
        {"sha256": hashes},
    )


def _run(folder: Path) -> str:
    overrides = ["train.num_steps=2", "eval.num_tasks=16", "rollout.num_tasks=2", f"run.dir={folder}"]
    train(load_config("webshop", overrides), Silent())
    return hashlib.sha256(b"".join((folder / name).read_bytes() for name in FILES)).hexdigest()


def _play(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", EPISODES],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.strip()
