"""All mutants, from one list per part of the project. In: the lists. Out: `MUTANTS`, in their order."""

from __future__ import annotations

from tests.mutants import hub, trainer
from tests.mutants.mutant import Mutant

MUTANTS: list[Mutant] = [*hub.MUTANTS, *trainer.MUTANTS]
