"""Metrics files: which number goes where, bytes, resuming."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from molt_train.monitor.jsonl import append_row, keep_until, read_rows
from molt_train.monitor.writer import MetricsWriter


class RecordingSink:
    def __init__(self) -> None:
        self.rows: list[tuple[int, dict[str, float]]] = []
        self.closed = 0

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self.rows.append((step, dict(values)))

    def close(self) -> None:
        self.closed += 1


def test_clock_values_go_to_their_own_file(tmp_path: Path) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write(1, {"reward_mean": 0.5, "step_s": 2.0})
    assert (tmp_path / "metrics.jsonl").read_text() == '{"reward_mean": 0.5, "step": 1}\n'
    assert (tmp_path / "timing.jsonl").read_text() == '{"step": 1, "step_s": 2.0}\n'


def test_the_bytes_do_not_depend_on_the_order_of_the_values(tmp_path: Path) -> None:
    values = {"loss": 0.1 + 0.2, "kl": 1e-17, "num_episodes": 3}
    for name, items in (("a", values), ("b", dict(reversed(values.items())))):
        with MetricsWriter(tmp_path / name) as writer:
            writer.write(1, items)
    first = (tmp_path / "a" / "metrics.jsonl").read_bytes()
    assert first == (tmp_path / "b" / "metrics.jsonl").read_bytes()
    assert json.loads(first)["loss"] == 0.1 + 0.2


def test_an_unknown_name_is_an_error(tmp_path: Path) -> None:
    with (
        MetricsWriter(tmp_path) as writer,
        pytest.raises(AssertionError, match="'rewrd_mean' is not in"),
    ):
        writer.write(1, {"rewrd_mean": 1.0})


def test_a_tensor_is_not_a_number(tmp_path: Path) -> None:
    values: dict[str, object] = {"loss": [1.0]}
    with MetricsWriter(tmp_path) as writer, pytest.raises(AssertionError, match="not a number"):
        writer.write(1, values)  # pyright: ignore[reportArgumentType]


def test_numbers_that_are_not_finite_stay_valid_json_and_read_back(tmp_path: Path) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write(1, {"loss": math.nan, "grad_norm": math.inf})
    text = (tmp_path / "metrics.jsonl").read_text()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    row = read_rows(tmp_path / "metrics.jsonl")[0]
    assert math.isnan(row["loss"]) and row["grad_norm"] == math.inf


def test_evaluations_have_their_own_file(tmp_path: Path) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write_eval(3, "rl", 0, {"eval_success_rate": 0.25})
    assert read_rows(tmp_path / "evals.jsonl") == [
        {"step": 3, "label": "rl", "temperature": 0.0, "eval_success_rate": 0.25}
    ]
    assert not (tmp_path / "metrics.jsonl").exists()


def test_a_used_folder_is_refused(tmp_path: Path) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write(1, {"loss": 1.0})
    with pytest.raises(ValueError, match=r"already holds a run .*run\.resume=true"):
        MetricsWriter(tmp_path)


def test_resuming_drops_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    def run(folder: Path, first: int, last: int, resume_step: int | None = None) -> None:
        with MetricsWriter(folder, resume_step) as writer:
            for step in range(first, last + 1):
                writer.write(step, {"loss": 1 / step, "step_s": 0.1})

    run(tmp_path / "whole", 1, 9)
    run(tmp_path / "killed", 1, 7)
    with (tmp_path / "killed" / "metrics.jsonl").open("a") as file:
        file.write('{"loss": 0.12')
    run(tmp_path / "killed", 5, 9, resume_step=4)
    whole = (tmp_path / "whole" / "metrics.jsonl").read_bytes()
    assert (tmp_path / "killed" / "metrics.jsonl").read_bytes() == whole


def test_half_a_line_at_the_end_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    append_row(path, {"step": 1})
    path.write_bytes(path.read_bytes() + b'{"st')
    assert read_rows(path) == [{"step": 1}]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"step": 1}\nnonsense\n{"step": 2}\n')
    with pytest.raises(ValueError, match=r"rows\.jsonl, line 2"):
        read_rows(path)


def test_truncating_an_absent_file_is_nothing(tmp_path: Path) -> None:
    keep_until(tmp_path / "none.jsonl", 3)
    assert list(tmp_path.iterdir()) == []


def test_sinks_get_everything_and_are_closed(tmp_path: Path) -> None:
    sink = RecordingSink()
    with MetricsWriter(tmp_path, sinks=(sink,)) as writer:
        writer.write(1, {"loss": 1.0, "step_s": 2.0})
        writer.write_eval(1, "rl", 1.0, {"eval_success_rate": 0.5})
    assert sink.rows == [(1, {"loss": 1.0, "step_s": 2.0}), (1, {"rl/sampled/eval_success_rate": 0.5})]
    assert sink.closed == 1
