"""All mutants, from one list per part of the project.

In: lists of (file, text, faulty text, test). Out: `all_mutants()`, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutants import hub, trainer


@dataclass(frozen=True)
class Mutant:
    """One fault and the test that finds it."""

    file: str
    """Path below the project's root, with forward slashes."""
    old: str
    """Text that occurs exactly once in the file."""
    new: str
    """What stands there in the mutant."""
    test: str
    """Id of the test that fails on the mutant and passes without it: path::function, perhaps [parameters]."""

    def __post_init__(self) -> None:
        if self.old == self.new:
            raise ValueError(f"the mutant of {self.file} changes nothing: {self.old!r}; write a fault")

    def apply(self, root: Path) -> None:
        """Put the fault into the file below `root`.

        Raises:
            ValueError: the text does not occur exactly once.
        """
        path = root / self.file
        source = path.read_text(encoding="utf-8")
        count = source.count(self.old)
        if count != 1:
            raise ValueError(
                f"{self.file} holds {self.old!r} {count} times; choose a text that occurs exactly once"
            )
        path.write_text(source.replace(self.old, self.new), encoding="utf-8")


def all_mutants() -> list[Mutant]:
    """Every mutant of the project."""
    return mutants_of(hub.MUTANTS, trainer.MUTANTS)


def mutants_of(*lists: Iterable[tuple[str, str, str, str]]) -> list[Mutant]:
    """The entries of the lists."""
    return [Mutant(*entry) for entries in lists for entry in entries]
