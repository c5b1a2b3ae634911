"""The report: one page about one run, with no scripts and nothing from the network.

In: a run's folder. Out: `report.html` in it; it can be made again at any time, also while the run goes on.
"""

from __future__ import annotations

import os
import tomllib
from html import escape
from importlib import resources
from pathlib import Path

from molt_train.monitor.html import Cell, details, table
from molt_train.monitor.report_curves import main_curves, other_curves
from molt_train.monitor.report_results import eval_table, headline_cards, outcome_table
from molt_train.monitor.report_samples import sample_episodes
from molt_train.monitor.run_data import RunData, read_run

FILE = "report.html"


def write_report(run_dir: Path) -> Path:
    """Read the folder and write the page, replacing an earlier one at once. Returns its path.

    Raises:
        ValueError: no such folder, nothing recorded in it, or a broken file.
    """
    page = render_report(read_run(run_dir))
    path = run_dir / FILE
    temporary = path.with_name(FILE + ".tmp")
    temporary.write_text(page, encoding="utf-8")
    os.replace(temporary, path)
    return path


def render_report(run: RunData) -> str:
    """The page's HTML."""
    css = (resources.files("molt_train.monitor") / "report.css").read_text(encoding="utf-8")
    title, subtitle = _titles(run)
    sections = [
        headline_cards(run),
        _section("Evaluations", eval_table(run)),
        _section("Curves", main_curves(run)),
        _folded("All other curves", other_curves(run)),
        _section("How training episodes ended", outcome_table(run)),
        _section("Sample episodes", sample_episodes(run.samples) if run.samples else ""),
        _section("Configuration and machine", _configuration(run)),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{css}</style></head><body>"
        f'<h1>{escape(title)}</h1><p class="sub">{escape(subtitle)}</p>{"".join(sections)}</body></html>\n'
    )


def _titles(run: RunData) -> tuple[str, str]:
    if not run.config_toml:
        return f"Run {run.run_dir.name}", "no config.toml in the run's folder"
    config = tomllib.loads(run.config_toml)
    title = f"{config['env']['id']}: {run.run_dir.name}"
    algorithm, train = config.get("algorithm", {}), config.get("train", {})
    parts = [
        f"model {config['model']['path']}",
        str(algorithm.get("advantage", "")),
        f"seed {train.get('seed', 0)}",
    ]
    controls = [
        name
        for name, section, key in (
            ("control: rewards shuffled", "train", "shuffle_rewards"),
            ("control: blind observations", "env", "blind"),
        )
        if config.get(section, {}).get(key)
    ]
    return title, " · ".join(part for part in (*parts, *controls) if part)


def _section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>{body}" if body else ""


def _folded(title: str, body: str) -> str:
    return details(title, body) if body else ""


def _configuration(run: RunData) -> str:
    parts: list[str] = []
    if run.environment:
        rows = [[name, Cell(value, "wrap")] for name, value in run.environment.items()]
        parts.append(table([], rows))
    if run.config_toml:
        parts.append(details("config.toml", f"<pre>{escape(run.config_toml)}</pre>"))
    return "".join(parts)
