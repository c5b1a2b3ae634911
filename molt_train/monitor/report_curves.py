"""The report's curves: which are drawn, and in which order. In: `RunData`. Out: HTML with inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from molt_train.metrics import METRICS
from molt_train.monitor.report_results import judged
from molt_train.monitor.run_data import RunData
from molt_train.monitor.svg import Series, line_chart

MAIN = (
    "success_rate",
    "reward_mean",
    "score_mean",
    "entropy",
    "zero_advantage_group_share",
    "turns_mean",
    "grad_norm",
    "clip_share",
    "logprob_gap_mean",
    "sft_loss",
    "tokens_per_s",
)
"""Drawn at once; all others are folded away."""
_PERCENT = ("success_rate", "zero_advantage_group_share", "clip_share")
_OMITTED = ("policy_version", "num_optimizer_steps", "elapsed_s")


def main_curves(run: RunData) -> str:
    """Evaluations first, then the main training curves."""
    charts = [_eval_chart(run, "eval_success_rate", "success on held-out tasks", percent=True)]
    charts += [_chart(run, name) for name in MAIN]
    return _charts(charts)


def other_curves(run: RunData) -> str:
    """Every other recorded metric."""
    charts = [_eval_chart(run, "eval_score_mean", "score on held-out tasks", percent=False)]
    charts += [_chart(run, name) for name in METRICS if name not in MAIN and name not in _OMITTED]
    return _charts(charts)


def _charts(charts: Sequence[str]) -> str:
    drawn = "".join(charts)
    return f'<div class="charts">{drawn}</div>' if drawn else ""


def _chart(run: RunData, name: str) -> str:
    curve = run.curve(name)
    if curve is None or (len(set(curve.values)) == 1 and not any(curve.values)):
        return ""
    series = [Series(name, curve.steps, curve.values)]
    metric = METRICS[name]
    unit = "" if metric.unit == "1" else f" ({metric.unit})"
    return _frame(name, f"{metric.meaning}{unit}", series, name in _PERCENT)


def _eval_chart(run: RunData, name: str, title: str, percent: bool) -> str:
    groups: dict[tuple[str, float], list[tuple[int, float, float, float]]] = {}
    for row in run.evals:
        if name in row:
            value = float(row[name])
            low, high = row.get("eval_success_low", value), row.get("eval_success_high", value)
            points = groups.setdefault((str(row["label"]), float(row["temperature"])), [])
            points.append((int(row["step"]), value, float(low), float(high)))
    with_interval = name == "eval_success_rate"
    series = [
        Series(
            f"{label}, {judged(temperature)}",
            [point[0] for point in points],
            [point[1] for point in points],
            [(point[2], point[3]) for point in points] if with_interval else (),
        )
        for (label, temperature), points in groups.items()
    ]
    # Four lines are what a small chart can show; the table holds the others.
    return _frame(title, "", series[:4], percent) if series else ""


def _frame(title: str, meaning: str, series: Sequence[Series], percent: bool) -> str:
    svg = line_chart(series, percent, title)
    if not svg:
        return ""
    keys = "".join(
        f'<span class="key" style="--k:var(--c{index})">{escape(line.label)}</span>'
        for index, line in enumerate(series, start=1)
    )
    below = keys if not meaning else escape(meaning)
    return f'<div class="chart"><h3>{escape(title)}</h3><p>{below}</p>{svg}</div>'
