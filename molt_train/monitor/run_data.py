"""What a run's folder says about the run. In: the folder. Out: `RunData`, for the report and the plots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from molt_train.monitor.environment import FILE as ENVIRONMENT_FILE
from molt_train.monitor.jsonl import read_rows
from molt_train.monitor.samples import Sample, read_samples, sample_files

Rows = Sequence[Mapping[str, Any]]
SFT_FOLDER = "sft"
"""The warm-up's own run folder within a run's."""


@dataclass(frozen=True)
class Curve:
    """One number over training steps; the two lists have one length."""

    steps: tuple[int, ...]
    """Training steps, rising."""
    values: tuple[float, ...]
    """Values; may hold nan."""


@dataclass(frozen=True)
class RunData:
    """A run as its folder tells it."""

    run_dir: Path
    """The folder."""
    config_toml: str
    """Text of `config.toml`; empty when absent."""
    metrics: Rows
    """Rows of `metrics.jsonl`."""
    timing: Rows
    """Rows of `timing.jsonl`."""
    evals: Rows
    """Rows of `evals.jsonl`."""
    sft: Rows
    """Rows of the warm-up's `metrics.jsonl`; empty when the run had none."""
    samples: Sequence[Sample]
    """Sample episodes of the first and the last file."""
    environment: Mapping[str, str]
    """What it ran on; empty when not recorded."""

    def curve(self, name: str) -> Curve | None:
        """The course of one metric, from whichever file holds it; None when it was never recorded."""
        for rows in (self.metrics, self.timing, self.sft):
            points = [(int(row["step"]), float(row[name])) for row in rows if name in row]
            if points:
                return Curve(tuple(step for step, _ in points), tuple(value for _, value in points))
        return None


def read_run(run_dir: Path) -> RunData:
    """Read a run's folder; files that are absent count as empty.

    Raises:
        ValueError: no such folder, nothing recorded in it, or a broken file.
    """
    if not run_dir.is_dir():
        raise ValueError(f"no run folder at {run_dir}")
    config, environment = run_dir / "config.toml", run_dir / ENVIRONMENT_FILE
    files = sample_files(run_dir)
    chosen = files[:1] + files[1:][-1:]
    data = RunData(
        run_dir=run_dir,
        config_toml=config.read_text(encoding="utf-8") if config.exists() else "",
        metrics=read_rows(run_dir / "metrics.jsonl"),
        timing=read_rows(run_dir / "timing.jsonl"),
        evals=read_rows(run_dir / "evals.jsonl"),
        sft=read_rows(run_dir / SFT_FOLDER / "metrics.jsonl"),
        samples=[sample for path in chosen for sample in read_samples(path)],
        environment=json.loads(environment.read_text(encoding="utf-8")) if environment.exists() else {},
    )
    if not (data.metrics or data.evals or data.sft):
        raise ValueError(f"{run_dir} holds no metrics.jsonl and no evals.jsonl; is it a run's folder?")
    return data
