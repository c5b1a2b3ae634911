"""Checks of environments, all groups of them.

In: a registered id or a function that makes an environment. Out: `Findings`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from molt_envs.checks import adversary, contract, determinism, endings, leaks, seats, secrets, skill, vectors
from molt_envs.checks.findings import Finding, Findings
from molt_envs.checks.subject import Check, Factory, Level, Subject

CHECKS: tuple[Check, ...] = (
    *contract.CHECKS,
    *determinism.CHECKS,
    *vectors.CHECKS,
    *endings.CHECKS,
    *skill.CHECKS,
    *seats.CHECKS,
    *leaks.CHECKS,
    *secrets.CHECKS,
    *adversary.CHECKS,
)
"""All rules, in the order in which they are checked."""


def check_env(
    env: str | Factory,
    level: Level = "quick",
    progress: Callable[[Check], None] | None = None,
    groups: Collection[str] = (),
) -> Findings:
    """Check an environment.

    Args:
        env: a registered id, or a function that makes a fresh environment. Checks in other processes need an
            id whose entry point is `module:Class`, or a class or function of an importable module.
        level: `quick` takes seconds; `full` plays more tasks and 10,000 resets.
        progress: called before each check.
        groups: names of the groups to check; none of them means all.
    """
    findings, subject = Findings(), Subject(env, level)
    unknown = {*groups} - {check.group for check in CHECKS}
    if unknown:
        known = ", ".join(dict.fromkeys(check.group for check in CHECKS))
        raise ValueError(f"unknown group of checks {min(unknown)!r}; there are {known}")
    for check in (check for check in CHECKS if not groups or check.group in groups):
        if progress is not None:
            progress(check)
        findings.append(run_check(check, subject))
    return findings


def run_check(check: Check, subject: Subject) -> Finding:
    """The finding of one check."""
    findings = Findings()
    findings.run(check.name, lambda: check.run(subject), check.mend, check.group)
    return findings[0]
