"""The table of metrics: units, outcomes, documentation."""

from __future__ import annotations

from pathlib import Path

from molt_train.metrics import METRICS, OUTCOMES, metrics_markdown

DOCS = Path(__file__).resolve().parents[2] / "docs" / "monitoring.md"


def test_every_metric_has_a_unit_and_a_meaning() -> None:
    assert [metric.name for metric in METRICS.values() if not (metric.unit and metric.meaning)] == []


def test_every_outcome_is_counted_in_training_and_evaluation() -> None:
    for outcome in OUTCOMES:
        assert {f"num_{outcome}", f"eval_num_{outcome}"} <= METRICS.keys()


def test_only_timing_has_clock_units() -> None:
    clock = {name for name, metric in METRICS.items() if metric.unit in ("s", "tokens/s", "episodes/s")}
    assert {name for name in clock if METRICS[name].stream != "timing"} == set()


def test_the_documentation_holds_the_current_tables() -> None:
    assert metrics_markdown() in DOCS.read_text(encoding="utf-8"), (
        "docs/monitoring.md is out of date; its tables are the output of `python -m molt_train.metrics`"
    )
