"""What a check found.

In: named checks that raise `CheckFailed` when something is wrong. Out: one `Finding` each, no exception.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from molt_envs.errors import boundary


class CheckFailed(AssertionError):
    """A check's rule does not hold; the message says for which input."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    name: str
    """Which rule was checked."""
    ok: bool
    """Whether it holds."""
    message: str
    """What was seen; empty when it holds."""

    def __str__(self) -> str:
        return f"ok    {self.name}" if self.ok else f"FAIL  {self.name}: {self.message}"


class Findings(list[Finding]):
    """Findings in the order in which the checks ran."""

    def run(self, name: str, check: Callable[[], None]) -> None:
        """Run one check; whatever it raises is its finding, and the checks after it still run."""
        with boundary() as result:
            check()
        self.append(
            Finding(name, result.failure is None, "" if result.failure is None else result.failure.reason)
        )

    def assert_ok(self) -> None:
        """Raise an `AssertionError` that lists the rules that do not hold."""
        failed = [str(finding) for finding in self if not finding.ok]
        if failed:
            raise AssertionError(f"{len(failed)} of {len(self)} checks fail\n" + "\n".join(failed))


def require(condition: bool, message: str) -> None:
    """Raise `CheckFailed` with `message` unless the condition holds."""
    if not condition:
        raise CheckFailed(message)
