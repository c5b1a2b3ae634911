"""What a check found.

In: named checks that raise `CheckFailed` when something is wrong, or `NotShown` when it cannot be told.
Out: one `Finding` each, no exception.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from molt_envs.errors import boundary


class CheckFailed(AssertionError):
    """A check's rule does not hold; the message says for which input."""


class NotShown(AssertionError):
    """A check cannot be made on this environment; the message says why. It does not count as a failure."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    name: str
    """Which rule was checked."""
    ok: bool
    """Whether it holds, or at least was not seen broken."""
    message: str
    """What was seen; may be empty when the rule holds."""
    shown: bool = True
    """False where the check could not be made."""
    mend: str = ""
    """What to change in a thing that fails this check."""
    group: str = ""
    """The group of checks it belongs to."""
    duration_s: float = 0.0
    """Time that the check took, in seconds."""

    @property
    def verdict(self) -> str:
        """`ok`, `FAIL` or `not shown`."""
        return "FAIL" if not self.ok else "ok" if self.shown else "not shown"

    def __str__(self) -> str:
        seen = f": {self.message}" if self.message else ""
        mend = f" -> {self.mend}" if self.mend and not self.ok else ""
        return f"{self.verdict:<5} {self.name}{seen}{mend}"


class Findings(list[Finding]):
    """Findings in the order in which the checks ran."""

    def run(self, name: str, check: Callable[[], str | None], mend: str = "", group: str = "") -> None:
        """Run one check; whatever it raises is its finding, and the checks after it still run.

        Args:
            name: the rule.
            check: gives what it measured, or None.
            mend: what to change where the rule does not hold.
            group: of which the check is one.
        """
        start = time.perf_counter()
        message, shown = "", True
        with boundary() as result:
            try:
                message = check() or ""
            except NotShown as reason:
                message, shown = str(reason), False
        if result.failure is not None:
            message = result.failure.reason.removeprefix("CheckFailed: ")
        duration_s = time.perf_counter() - start
        self.append(Finding(name, result.failure is None, message, shown, mend, group, duration_s))

    def assert_ok(self) -> None:
        """Raise an `AssertionError` that lists the rules that do not hold."""
        failed = [str(finding) for finding in self if not finding.ok]
        if failed:
            raise AssertionError(f"{len(failed)} of {len(self)} checks fail\n" + "\n".join(failed))


def require(condition: bool, message: str) -> None:
    """Raise `CheckFailed` with `message` unless the condition holds."""
    if not condition:
        raise CheckFailed(message)
