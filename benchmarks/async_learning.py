"""WebShop learned through vLLM in three modes, in one process and as Ray actors: the same success each time.

One warm-up on noisy demonstrations, then six runs from it: sync, one step off and fully async, each without
Ray and with it (two engines, two environment hosts, one learner). All are judged greedily on the same tasks.
Every finished part leaves its numbers in `build/prove/async_learning/`, so that a run that was stopped goes
on where it was. Needs vLLM and Ray (`make install-vllm`).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from rich.console import Console

from benchmarks.report import record, results_dir
from molt_train.cluster.run import cluster_parts
from molt_train.config import Config, load_config
from molt_train.loop.parts import local_parts
from molt_train.loop.run import train
from molt_train.loop.sft import train_sft
from molt_train.monitor.jsonl import read_rows
from molt_train.monitor.progress import make_progress

NAME = "async_learning"
MODES = ("sync", "one_step_off", "fully_async")
NUM_TASKS = 300
NUM_STEPS = 30
LEAST_GAIN = 0.05
ON_CLUSTER = ("cluster.enabled=true", "cluster.num_engines=2", "cluster.num_env_hosts=2")


def main() -> None:
    """The warm-up, six runs, the verdicts."""
    folder = results_dir() / NAME
    start = _warm_up(folder / "start")
    rows = {
        f"{place}-{mode}": _run(folder / f"{place}-{mode}", start, mode, place)
        for place in ("local", "ray")
        for mode in MODES
    }
    begun = rows["local-sync"]["before"]
    gains = {name: row["after"] - begun for name, row in rows.items()}
    details = {"runs": rows, "gains": gains}
    record(f"{NAME}.gain", f"each of 6 runs gains ≥ {LEAST_GAIN} success", min(gains.values()),
           min(gains.values()) >= LEAST_GAIN, details)  # fmt: skip
    highest_low = max(row["low"] for row in rows.values())
    lowest_high = min(row["high"] for row in rows.values())
    record(f"{NAME}.same", "all six 95 % intervals of success overlap (highest low end ≤ lowest high end)",
           f"{highest_low:.3f} ≤ {lowest_high:.3f}", highest_low <= lowest_high, details)  # fmt: skip
    oldest = {name: row["staleness_max"] for name, row in rows.items()}
    bounds = {"sync": 0, "one_step_off": 1, "fully_async": 2}
    record(f"{NAME}.staleness", "no token is older than its mode allows", max(oldest.values()),
           all(age <= bounds[name.partition("-")[2]] for name, age in oldest.items()), oldest)  # fmt: skip


def _warm_up(folder: Path) -> Path:
    model = folder / "sft" / "model"
    if not model.exists():
        shutil.rmtree(folder, ignore_errors=True)
        with make_progress(Console()) as progress:
            train_sft(_config(folder), progress)
    return model


def _run(folder: Path, start: Path, mode: str, place: str) -> dict[str, float]:
    """One run's success before and after, with the interval, and its oldest token."""
    result = folder.with_suffix(".json")
    if not result.exists():
        shutil.rmtree(folder, ignore_errors=True)
        config = _config(
            folder, f"model.path={start}", f"rollout.mode={mode}", "rollout.engine=vllm",
            *(ON_CLUSTER if place == "ray" else ()),
        )  # fmt: skip
        with make_progress(Console()) as progress:
            train(config, progress, cluster_parts if place == "ray" else local_parts)
        first, *_, last = read_rows(folder / "evals.jsonl")
        steps = read_rows(folder / "metrics.jsonl")
        values = {
            "before": first["eval_success_rate"], "after": last["eval_success_rate"],
            "low": last["eval_success_low"], "high": last["eval_success_high"],
            "staleness_max": max(row["staleness_max"] for row in steps),
            "num_episodes": sum(row["num_episodes"] for row in steps),
        }  # fmt: skip
        result.write_text(json.dumps(values), encoding="utf-8")
    return json.loads(result.read_text(encoding="utf-8"))


def _config(folder: Path, *overrides: str) -> Config:
    fixed = (f"run.dir={folder}", f"eval.num_tasks={NUM_TASKS}", f"train.num_steps={NUM_STEPS}")
    return load_config("webshop", [*fixed, *overrides])


if __name__ == "__main__":
    main()
