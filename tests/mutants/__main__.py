"""Try all mutants, or those named: `python -m tests.mutants [NAME…]`. Exit 1 when one survives."""

from __future__ import annotations

import sys

from tests.mutants import hub, trainer
from tests.mutants.runner import run_mutants

ALL = [*hub.MUTANTS, *trainer.MUTANTS]


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - {mutant.name for mutant in ALL})
    if unknown:
        print(f"no mutant {unknown[0]!r}; known are {', '.join(mutant.name for mutant in ALL)}")
        return 2
    chosen = [mutant for mutant in ALL if not names or mutant.name in names]
    num_killed = 0
    for verdict in run_mutants(chosen):
        num_killed += verdict.killed
        outcome = "killed" if verdict.killed else f"SURVIVED ({verdict.detail})"
        print(f"{verdict.mutant.name}: {outcome}", flush=True)
    print(f"{num_killed} of {len(chosen)} mutants killed")
    return 0 if num_killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
