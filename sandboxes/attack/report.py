"""A whole attack on a backend: in, the backend and snippets; out, verdicts, and what was left on the host."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sandboxes.attack import leftovers
from sandboxes.attack.catalogue import Snippet
from sandboxes.attack.suite import LIMITS, Suite, Verdict
from sandboxes.attack.witness import PREFIX
from sandboxes.base import Backend
from sandboxes.docker_engine import connect

SETTLE_S = 15.0


@dataclass(frozen=True)
class Report:
    """What the attacks came to."""

    backend: str
    """Its name."""
    verdicts: tuple[Verdict, ...]
    """One per attack."""
    left: tuple[str, ...]
    """Processes, mounts, control groups, files and containers that were still there at the end."""

    @property
    def held(self) -> bool:
        """Every attack took place and was contained, and nothing was left."""
        return not self.left and all(verdict.status == "contained" for verdict in self.verdicts)


def run_attack(
    backend: Backend, snippets: Sequence[Snippet], progress: Callable[[Verdict], object] | None = None
) -> Report:
    """Run them all on fresh sandboxes of the backend, then look for what was left behind."""
    before = leftovers.mounts()
    verdicts: list[Verdict] = []
    with Suite(lambda: backend.open(LIMITS)) as suite:
        for verdict in suite.run(snippets):
            verdicts.append(verdict)
            if progress is not None:
                progress(verdict)
        marker = suite.marker
    left = leftovers.settle(lambda: _left(backend.name, marker, before), SETTLE_S)
    return Report(backend.name, tuple(verdicts), tuple(left))


def table(verdicts: Sequence[Verdict]) -> str:
    """Verdicts, a line each."""
    return "\n".join(
        f"{each.status:<10}{each.group:<18}{each.name:<26}{each.wall_s:6.2f} s  {each.evidence[:90]}"
        for each in verdicts
    )


def left_behind(report: Report) -> str:
    """The last lines: sums, and what was left."""
    counts = {status: 0 for status in ("contained", "escaped", "broken")}
    for verdict in report.verdicts:
        counts[verdict.status] += 1
    sums = ", ".join(f"{number} {status}" for status, number in counts.items())
    left = "; ".join(report.left) or "nothing"
    return f"{report.backend}: {len(report.verdicts)} attacks, {sums}; left behind: {left}"


def _left(backend: str, marker: str, mounts_before: set[str]) -> list[str]:
    containers = []
    if backend == "docker":
        engine = connect()
        containers = [f"container {name}" for name in engine.owned()]
        engine.api.close()
    new_mounts = [f"mount {point}" for point in leftovers.mounts() - mounts_before]
    return [
        *leftovers.processes_named(marker),
        *leftovers.cgroups_of(os.getpid()),
        *leftovers.files_named(marker),
        *leftovers.files_named(f"{PREFIX}{os.getpid()}-"),
        *new_mounts,
        *containers,
    ]
