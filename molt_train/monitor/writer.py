"""Writes a run's numbers: each metric to the file that the table of metrics names.

In: a step and values by name. Out: `metrics.jsonl`, `timing.jsonl`, `evals.jsonl`, `groups.jsonl`, and what
sinks make.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from molt_train.metrics import METRICS, Stream
from molt_train.monitor.jsonl import Scalar, append_row, keep_until

FILES: dict[Stream, str] = {"metrics": "metrics.jsonl", "timing": "timing.jsonl", "eval": "evals.jsonl"}
GROUPS = "groups.jsonl"
"""One line per group of episodes that was trained on."""


class Sink(Protocol):
    """Somewhere else that numbers go to, e.g. TensorBoard."""

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Take one step's values."""
        ...

    def close(self) -> None:
        """Flush and release; idempotent."""
        ...


class MetricsWriter:
    """Writes into `run_dir`; use it in a `with` block.

    Args:
        run_dir: the run's folder; made if absent.
        resume_step: when a run goes on, the checkpoint's step: later rows are dropped.
        sinks: further places, closed with the writer.

    Raises:
        ValueError: the folder already holds metrics and no `resume_step` is given.
    """

    def __init__(self, run_dir: Path, resume_step: int | None = None, sinks: tuple[Sink, ...] = ()) -> None:
        self._run_dir, self._sinks = run_dir, sinks
        run_dir.mkdir(parents=True, exist_ok=True)
        for name in (*FILES.values(), GROUPS):
            path = run_dir / name
            if resume_step is not None:
                keep_until(path, resume_step)
            elif path.exists():
                raise ValueError(
                    f"{run_dir} already holds a run ({name}); set run.dir to another folder, or "
                    "run.resume=true to go on"
                )

    def __enter__(self) -> MetricsWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Record one training step. Clock values go to `timing.jsonl`, the others to `metrics.jsonl`."""
        rows: dict[Stream, dict[str, float]] = {"metrics": {}, "timing": {}}
        for name, value in values.items():
            stream = _stream(name)
            assert stream != "eval", f"{name} belongs to an evaluation; use write_eval"
            rows[stream][name] = _number(name, value)
        for stream, row in rows.items():
            if row:
                append_row(self._run_dir / FILES[stream], {"step": step, **row})
        self._send(step, values)

    def write_group(self, step: int, row: Mapping[str, Scalar]) -> None:
        """Record a group that one training step was on."""
        append_row(self._run_dir / GROUPS, {"step": step, **row})

    def write_eval(self, step: int, label: str, temperature: float, values: Mapping[str, float]) -> None:
        """Record one evaluation of the weights after `step` training steps.

        `label` names what is judged, e.g. `start`, `rl`, `sft_continued`; rows of one label form a curve.
        """
        for name in values:
            assert _stream(name) == "eval", f"{name} does not belong to an evaluation; use write"
        row = {name: _number(name, value) for name, value in values.items()}
        append_row(
            self._run_dir / FILES["eval"],
            {"step": step, "label": label, "temperature": float(temperature), **row},
        )
        kind = "greedy" if temperature == 0 else "sampled"
        self._send(step, {f"{label}/{kind}/{name}": value for name, value in row.items()})

    def close(self) -> None:
        """Close the sinks; idempotent."""
        for sink in self._sinks:
            sink.close()

    def _send(self, step: int, values: Mapping[str, float]) -> None:
        for sink in self._sinks:
            sink.write(step, values)


def _stream(name: str) -> Stream:
    assert name in METRICS, f"metric {name!r} is not in molt_train/metrics.py; add it there"
    return METRICS[name].stream


def _number(name: str, value: float) -> float:
    assert isinstance(value, int | float) and not isinstance(value, bool), (
        f"{name} is {value!r}, not a number"
    )
    return value
