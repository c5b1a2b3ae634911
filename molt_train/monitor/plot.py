"""The main curves as a picture. In: a run's folder. Out: `curves.png` in it, drawn by matplotlib."""

from __future__ import annotations

from pathlib import Path

from molt_train.metrics import METRICS
from molt_train.monitor.report_curves import MAIN
from molt_train.monitor.report_results import judged
from molt_train.monitor.run_data import RunData, read_run

FILE = "curves.png"
_COLUMNS = 3


def plot_curves(run_dir: Path) -> Path:
    """Draw evaluations and main training curves; returns the picture's path.

    Raises:
        ValueError: no such folder, nothing recorded in it, or matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError(
            f"pictures need the package matplotlib ({error}); report.html does without"
        ) from error
    run = read_run(run_dir)
    curves = {name: curve for name in MAIN if (curve := run.curve(name)) is not None}
    num_plots = len(curves) + bool(run.evals)
    num_rows = -(-num_plots // _COLUMNS)
    figure = Figure(figsize=(4 * _COLUMNS, 2.8 * num_rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(num_rows, _COLUMNS, squeeze=False).flat)
    for unused in axes[num_plots:]:
        unused.set_axis_off()
    if run.evals:
        axes[0].set_title("success on held-out tasks", fontsize=9)
        for label, (steps, values, below, above) in _evaluations(run).items():
            axes[0].errorbar(steps, values, yerr=[below, above], marker=".", capsize=2, label=label)
        axes[0].legend(fontsize=7)
        axes = axes[1:]
    for axis, (name, curve) in zip(axes, curves.items(), strict=False):
        unit = METRICS[name].unit
        axis.set_title(name + ("" if unit == "1" else f" ({unit})"), fontsize=9)
        axis.plot(curve.steps, curve.values, linewidth=1)
        axis.grid(alpha=0.3)
    path = run_dir / FILE
    figure.savefig(path, dpi=120)
    return path


def _evaluations(run: RunData) -> dict[str, tuple[list[int], list[float], list[float], list[float]]]:
    """By label: steps, success, and the interval's distances below and above."""
    found: dict[str, tuple[list[int], list[float], list[float], list[float]]] = {}
    for row in run.evals:
        if "eval_success_rate" not in row:
            continue
        label = f"{row['label']}, {judged(float(row['temperature']))}"
        steps, values, below, above = found.setdefault(label, ([], [], [], []))
        value = float(row["eval_success_rate"])
        steps.append(int(row["step"]))
        values.append(value)
        below.append(max(0.0, value - float(row.get("eval_success_low", value))))
        above.append(max(0.0, float(row.get("eval_success_high", value)) - value))
    return found
