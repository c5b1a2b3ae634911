"""`python -m tests.mutants [NAME …]`: puts each fault into a copy of the project and runs its test.

In: names of mutants, or parts of their names; none for all. Out: a line per mutant; status 1 if one lives.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tests.mutants.catalogue import MUTANTS
from tests.mutants.verdicts import judge
from tests.shared_data import CHECKOUT, find_shared_data


def main(names: Sequence[str]) -> int:
    """Judge the chosen mutants; gives the exit status."""
    unknown = [name for name in names if not any(name in mutant.name for mutant in MUTANTS)]
    if unknown:
        print(f"no mutant {unknown[0]!r}; known are {', '.join(mutant.name for mutant in MUTANTS)}")
        return 2
    data = find_shared_data()
    if data is not None:  # a copy has no such folder beside it
        os.environ["MOLT_TEST_DATA"] = str(data)
    chosen = [m for m in MUTANTS if not names or any(name in m.name for name in names)]
    num_killed = 0
    for verdict in judge(CHECKOUT, chosen):
        num_killed += verdict.killed
        print(f"{'killed' if verdict.killed else 'ALIVE '} {verdict.mutant.name}", flush=True)
        if not verdict.killed:
            print(f"  {verdict.mutant.test}: {verdict.reason}", flush=True)
    print(f"{num_killed} of {len(chosen)} mutants killed")
    return 0 if num_killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
