"""The command `molt-envs check`: environments' ids in, a table or JSON out, and an exit status.

Progress goes to the error stream, so that JSON may be piped.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from molt_envs.checks.environment import CHECKS, check_env
from molt_envs.checks.findings import Finding, Findings
from molt_envs.checks.subject import Check, Level

STYLES = {"ok": "green", "FAIL": "bold red", "not shown": "yellow"}


def check_all(env_ids: Sequence[str], level: Level = "quick", quiet: bool = False) -> dict[str, Findings]:
    """Check environments one after another, with a progress bar on the error stream.

    Args:
        env_ids: registered ids.
        level: see `check_env`.
        quiet: show no progress.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=quiet) as progress:
        bar = progress.add_task("", total=len(env_ids) * len(CHECKS))
        found: dict[str, Findings] = {}
        for number, env_id in enumerate(env_ids):
            progress.update(bar, completed=number * len(CHECKS))

            def begin(check: Check, env_id: str = env_id) -> None:
                progress.update(bar, advance=1, description=f"{env_id}: {check.name}")

            found[env_id] = check_env(env_id, level, begin)
    return found


def show(found: Mapping[str, Findings], console: Console) -> None:
    """One table for each environment, what to mend, and one line of sums."""
    for env_id, findings in found.items():
        table = Table("check", "verdict", "what was seen", title=env_id, title_justify="left")
        for finding, following in zip(findings, [*findings[1:], None], strict=True):
            verdict = Text(finding.verdict, STYLES[finding.verdict])
            last = following is None or following.group != finding.group
            table.add_row(Text(finding.name), verdict, _seen(finding), end_section=last)
        console.print(table)
    verdicts = [finding.verdict for findings in found.values() for finding in findings]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in STYLES if verdict in verdicts)
    num_bad = sum(not _passes(findings) for findings in found.values())
    console.print(f"{len(found) - num_bad} of {len(found)} environments pass: {counts}", highlight=False)


def as_json(found: Mapping[str, Findings]) -> str:
    """The findings for programs."""
    rows = [
        {
            "id": env_id,
            "ok": _passes(findings),
            "checks": [{"verdict": finding.verdict, **dataclasses.asdict(finding)} for finding in findings],
        }
        for env_id, findings in found.items()
    ]
    return json.dumps(rows, indent=2)


def exit_status(found: Mapping[str, Findings]) -> int:
    """0 where every environment passes, else 1."""
    return 0 if all(_passes(findings) for findings in found.values()) else 1


def _passes(findings: Findings) -> bool:
    return all(finding.ok for finding in findings)


def _seen(finding: Finding) -> Text:
    # Observations may hold control characters and lone surrogates, which no terminal should get.
    seen = Text("".join(char if char.isprintable() else ascii(char)[1:-1] for char in finding.message))
    if not finding.ok:
        seen.append(f"\nto mend: {finding.mend}", "italic")
    return seen
