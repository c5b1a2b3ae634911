"""Reinforcement learning on WebShop against its start, against more supervised learning, and against three
controls.

One warm-up on noisy demonstrations; then, for each of three seeds: reinforcement learning, supervised
learning continued for the same wall-clock, and reinforcement learning on shuffled rewards. All are judged
greedily on the same held-out tasks. Learning rate 0 must give the identical evaluation, blind observations
must solve nothing. Every finished part leaves its numbers in `build/prove/learning/`, so that a run that
was stopped goes on where it was.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev

from rich.console import Console

from benchmarks.report import record, results_dir
from molt_train.config import Config, load_config
from molt_train.loop.run import evaluate_policy, train
from molt_train.loop.sft import continue_sft, train_sft
from molt_train.model.load import WEBSHOP_BASE
from molt_train.monitor.jsonl import read_rows
from molt_train.monitor.progress import make_progress

NAME = "learning"
SEEDS = (0, 1, 2)
NUM_TASKS = 1000
T_95 = 4.303
"""Student's t for a 95 % interval of three values."""

Part = Callable[[Path], dict[str, float]]


def main() -> None:
    """All parts, then the verdicts."""
    folder = results_dir() / NAME
    folder.mkdir(parents=True, exist_ok=True)
    start = _part(folder, "start", _warm_up)
    runs = [_seed(folder, seed) for seed in SEEDS]
    rate_zero = _part(folder, "rate_zero", lambda out: _train(out, "optimizer.lr=0.0", "train.num_steps=2"))
    blind = _part(
        folder, "blind", lambda out: _judge(out, folder / "rl-0" / "run" / "model", "env.blind=true")
    )
    _verdicts(start, runs, rate_zero, blind)


def _seed(folder: Path, seed: int) -> dict[str, dict[str, float]]:
    """The three runs of one seed, from the common start."""
    own = f"train.seed={seed}"
    rl = _part(folder, f"rl-{seed}", lambda out: _train(out, own))
    limit_s = rl["train_s"]
    return {
        "rl": rl,
        "sft": _part(folder, f"sft-{seed}", lambda out: _more_sft(out, seed, limit_s)),
        "shuffled": _part(
            folder, f"shuffled-{seed}", lambda out: _train(out, own, "train.shuffle_rewards=true")
        ),
    }


def _verdicts(
    start: dict[str, float],
    runs: Sequence[dict[str, dict[str, float]]],
    rate_zero: dict[str, float],
    blind: dict[str, float],
) -> None:
    begun = start["greedy"]
    gains = [run["rl"]["greedy"] - begun for run in runs]
    over_sft = [run["rl"]["greedy"] - run["sft"]["greedy"] for run in runs]
    shuffled = [run["shuffled"]["greedy"] - begun for run in runs]
    details = {"start": start, "runs": list(runs), "rate_zero": rate_zero, "blind": blind}
    record(f"{NAME}.start", "the warm start solves 15 to 60 %", begun, 0.15 <= begun <= 0.6)
    record(f"{NAME}.gain", "≥ .15 on average, every seed improves", mean(gains),
           mean(gains) >= 0.15 and min(gains) > 0,
           {**details, "interval": interval(gains), "gains": gains})  # fmt: skip
    record(f"{NAME}.over_sft", "above supervised learning continued as long, every seed", mean(over_sft),
           min(over_sft) > 0, {"interval": interval(over_sft), "differences": over_sft})  # fmt: skip
    low, high = interval(shuffled)
    record(f"{NAME}.shuffled", "with shuffled rewards the gain's interval includes 0 or less", mean(shuffled),
           low <= 0, {"interval": (low, high), "gains": shuffled})  # fmt: skip
    same = (
        rate_zero["greedy_before"] == rate_zero["greedy"] and rate_zero["score_before"] == rate_zero["score"]
    )
    record(f"{NAME}.rate_zero", "learning rate 0 gives the identical evaluation", same, bool(same))
    record(
        f"{NAME}.blind",
        "without observations at most .02 is solved",
        blind["greedy"],
        blind["greedy"] <= 0.02,
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean (Student's t)."""
    half = T_95 * stdev(values) / math.sqrt(len(values))
    return mean(values) - half, mean(values) + half


def _part(folder: Path, name: str, run: Part) -> dict[str, float]:
    """The part's numbers, from its file if it has been run before."""
    file = folder / f"{name}.json"
    if not file.exists():
        out = folder / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        values = run(out)
        file.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    values = json.loads(file.read_text(encoding="utf-8"))
    print(f"{name}: {values}", flush=True)
    return values


def _warm_up(out: Path) -> dict[str, float]:
    config = _config(out / "run", WEBSHOP_BASE)
    with make_progress(Console()) as progress:
        train_sft(config, progress)
    return _judge(out, out / "run" / "sft" / "model")


def _train(out: Path, *overrides: str) -> dict[str, float]:
    config = _config(out / "run", _start_model(out), *overrides)
    begun = time.monotonic()
    with make_progress(Console()) as progress:
        train(config, progress)
    spent = time.monotonic() - begun
    first, last = read_rows(out / "run" / "evals.jsonl")
    train_s = sum(row["step_s"] for row in read_rows(out / "run" / "timing.jsonl"))
    values = {
        "greedy_before": first["eval_success_rate"], "score_before": first["eval_score_mean"],
        "greedy": last["eval_success_rate"], "score": last["eval_score_mean"],
        "train_s": train_s, "wall_s": spent,
    }  # fmt: skip
    if any("seed" in override for override in overrides):
        values["sampled"] = _evaluate(out / "sampled", out / "run" / "model", "eval.temperature=1.0")[0]
    return values


def _more_sft(out: Path, seed: int, limit_s: float) -> dict[str, float]:
    endless = ("sft.num_steps=1000000", "sft.schedule=constant", "sft.lr=0.0005")
    config = _config(out / "run", _start_model(out), *endless)
    with make_progress(Console(), quiet=True) as progress:
        model, num_steps = continue_sft(config, progress, limit_s, order_seed=seed + 1)
    return {**_judge(out, model), "num_steps": num_steps, "limit_s": limit_s}


def _judge(out: Path, model: Path, *overrides: str) -> dict[str, float]:
    """Greedy and sampled success and the greedy score."""
    greedy, score = _evaluate(out / "greedy", model, *overrides)
    sampled, _ = _evaluate(out / "sampled", model, "eval.temperature=1.0", *overrides)
    return {"greedy": greedy, "score": score, "sampled": sampled}


def _evaluate(folder: Path, model: Path, *overrides: str) -> tuple[float, float]:
    with make_progress(Console()) as progress:
        evaluate_policy(_config(folder, model, *overrides), progress)
    row = read_rows(folder / "evals.jsonl")[0]
    return float(row["eval_success_rate"]), float(row["eval_score_mean"])


def _start_model(out: Path) -> Path:
    return out.parent / "start" / "run" / "sft" / "model"


def _config(folder: Path, model: Path | str, *overrides: str) -> Config:
    common = [f"run.dir={folder}", f"model.path={model}", f"eval.num_tasks={NUM_TASKS}", "eval.every_steps=0"]
    return load_config("webshop", [*common, *overrides])
