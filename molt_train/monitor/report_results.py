"""The report's results: headline, evaluations, outcomes. In: `RunData`. Out: HTML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from molt_train.metrics import OUTCOMES
from molt_train.monitor.html import Cell, card, number, table
from molt_train.monitor.run_data import Rows, RunData

Row = Mapping[str, Any]


def headline_cards(run: RunData) -> str:
    """Before and after, greedy and sampled, and how long it took."""
    cards: list[str] = []
    for temperature in sorted({float(row["temperature"]) for row in run.evals}):
        pair = first_and_last(run.evals, temperature)
        if pair is not None:
            cards.append(_gain_card(judged(temperature), *pair))
    episodes = sum(int(row.get("num_episodes", 0)) for row in run.metrics)
    if episodes:
        tokens = sum(int(row.get("num_action_tokens", 0)) for row in run.metrics)
        cards.append(
            card("training", f"{len(run.metrics)} steps", f"{episodes:,} episodes, {tokens:,} sampled tokens")
        )
    seconds = sum(float(row.get("step_s", 0.0)) for row in run.timing)
    if seconds:
        cards.append(card("time of the steps", duration(seconds), _time_shares(run.timing, seconds)))
    return f'<div class="cards">{"".join(cards)}</div>' if cards else ""


def first_and_last(evals: Rows, temperature: float) -> tuple[Row, Row] | None:
    """The first and the last evaluation of what was trained last (its label), judged at this temperature."""
    rows = [row for row in evals if float(row["temperature"]) == temperature and "eval_success_rate" in row]
    rows = [row for row in rows if row["label"] == rows[-1]["label"]]
    return (rows[0], rows[-1]) if rows else None


def eval_table(run: RunData) -> str:
    """One row per evaluation."""
    names = ("step", "success", "95 % interval", "score", "turns", "episodes")
    head = ["judged", "", *map(number, names), "other outcomes"]
    return table(head, [_eval_cells(row) for row in run.evals]) if run.evals else ""


def outcome_table(run: RunData) -> str:
    """How training episodes ended: in all, and in the first and the last tenth of the steps."""
    rows = [row for row in run.metrics if "num_episodes" in row]
    if not rows:
        return ""
    tenth = max(1, len(rows) // 10)
    parts = (rows, rows[:tenth], rows[-tenth:])
    totals = [sum(float(row["num_episodes"]) for row in part) for part in parts]
    lines = []
    for name in OUTCOMES:
        counts = [sum(float(row.get(f"num_{name}", 0)) for row in part) for part in parts]
        shares = [
            number(f"{count / total:.1%}" if total else "–")
            for count, total in zip(counts, totals, strict=True)
        ]
        lines.append([name, number(f"{counts[0]:,.0f}"), *shares])
    head = [
        "outcome",
        number("episodes"),
        number("all"),
        number(f"first {tenth} steps"),
        number(f"last {tenth} steps"),
    ]
    return table(head, lines)


def judged(temperature: float) -> str:
    """How an evaluation sampled, in words."""
    return "greedy" if temperature == 0 else f"sampled at T = {temperature:g}"


def duration(seconds: float) -> str:
    """`75 s`, `12.5 min`, `3.2 h`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _gain_card(what: str, first: Row, last: Row) -> str:
    before, after = float(first["eval_success_rate"]), float(last["eval_success_rate"])
    gain = after - before
    css = "good" if gain > 0 else "bad" if gain < 0 else ""
    if first is last:
        return card(f"success, {what}", f"{after:.1%}", _interval(last))
    episodes = int(last.get("eval_num_episodes", 0))
    more = f"{gain * 100:+.1f} points on {episodes:,} tasks; now {_interval(last) or 'no interval recorded'}"
    return card(f"success, {what}", f"{before:.1%} → {after:.1%}", more, css)


def _time_shares(timing: Rows, seconds: float) -> str:
    names = {"rollout_s": "rollout", "update_s": "update", "eval_s": "evaluation"}
    shares = {
        word: sum(float(row.get(name, 0.0)) for row in timing) / seconds for name, word in names.items()
    }
    return ", ".join(f"{share:.0%} {word}" for word, share in shares.items() if share)


def _eval_cells(row: Row) -> list[str | Cell]:
    others = {name: float(row.get(f"eval_num_{name}", 0)) for name in OUTCOMES if name != "terminated"}
    return [
        str(row["label"]),
        judged(float(row["temperature"])),
        number(str(row["step"])),
        number(_percent(row, "eval_success_rate")),
        number(_interval(row)),
        number(_form(row, "eval_score_mean", ".3f")),
        number(_form(row, "eval_turns_mean", ".1f")),
        number(_form(row, "eval_num_episodes", ",.0f")),
        ", ".join(f"{count:.0f} {name}" for name, count in others.items() if count),
    ]


def _percent(row: Row, name: str) -> str:
    return f"{float(row[name]):.1%}" if name in row else "–"


def _form(row: Row, name: str, form: str) -> str:
    return format(float(row[name]), form) if name in row else "–"


def _interval(row: Row) -> str:
    if "eval_success_low" not in row or "eval_success_high" not in row:
        return ""
    return f"{_percent(row, 'eval_success_low')} – {_percent(row, 'eval_success_high')}"
