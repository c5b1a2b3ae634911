"""One source mutation. In: a file and two texts. Out: the file's text with one replaced by the other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A fault, and the test that finds it."""

    name: str
    """Unique; says what is wrong."""
    file: str
    """Path from the repository's root."""
    old: str
    """Text that occurs once in the file."""
    new: str
    """What stands there instead."""
    test: str
    """The pytest id of the test that must fail."""

    def __post_init__(self) -> None:
        if self.old == self.new:
            raise ValueError(f"mutant {self.name!r} changes nothing: {self.old!r}; write a fault")

    def apply(self, text: str) -> str:
        """The faulty text.

        Raises:
            ValueError: `old` does not occur exactly once.
        """
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"mutant {self.name!r}: its text occurs {count} times in {self.file}, not once")
        return text.replace(self.old, self.new)
