"""The demonstration: take a small model, warm it up, train it by reinforcement learning, compare before
and after.

In: a configuration. Out: `run.dir` with the models, metrics, evaluations and the report; a table on the
screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from molt_train.config import Config
from molt_train.loop.run import train
from molt_train.loop.sft import train_sft
from molt_train.monitor.jsonl import read_rows
from molt_train.monitor.plot import plot_curves
from molt_train.monitor.progress import Progress


def run_demo(config: Config, warm_up: bool, progress: Progress) -> Path:
    """Run all parts; gives the run's folder.

    Args:
        config: the recipe.
        warm_up: learn from the oracle's episodes first; otherwise `model.path` is trained as it is.
        progress: shows what goes on.

    Raises:
        ValueError: the run's folder is in use; remove it or choose another.
    """
    folder = Path(config.run.dir)
    if warm_up:
        model = train_sft(config, progress) / "model"
        config = config.model_copy(update={"model": config.model.model_copy(update={"path": str(model)})})
    train(config, progress)
    plot_curves(folder)
    Console().print(before_and_after(read_rows(folder / "evals.jsonl")))
    return folder


def free_folder(folder: str) -> str:
    """The folder itself, or `folder-2`, `folder-3`, … where it is in use, so that a demo can be run again."""
    number, free = 1, Path(folder)
    while free.exists() and any(free.iterdir()):
        number += 1
        free = Path(f"{folder}-{number}")
    return str(free)


def before_and_after(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The first and last evaluation of each kind, with 95 % intervals of the success rate."""
    table = Table("judged", "", "success", "95 % interval", "score", "turns", "tasks", title="held-out tasks")
    for temperature in sorted({row["temperature"] for row in rows}):
        chosen = [row for row in rows if row["temperature"] == temperature]
        for name, row in (("before", chosen[0]), ("after", chosen[-1])):
            table.add_row(
                "greedy" if temperature == 0 else f"sampled at {temperature:g}",
                name,
                f"{row['eval_success_rate']:.1%}",
                f"{row['eval_success_low']:.1%} to {row['eval_success_high']:.1%}",
                f"{row['eval_score_mean']:.3f}",
                f"{row['eval_turns_mean']:.1f}",
                str(row["eval_num_episodes"]),
            )
    return table
