"""What of isolation works on this machine: in, the machine; out, findings, and how to get what is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sandboxes.backends import BACKENDS, find_backend
from sandboxes.base import SandboxUnavailable, Support
from sandboxes.cgroups import find_hierarchy


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    name: str
    """What was looked at."""
    works: bool
    """Whether it is there, or, for a backend, holds all that untrusted code needs."""
    says: str
    """What was found."""
    mend: str
    """What to do when it does not work."""


def examine(
    probes: Mapping[str, Callable[[], Support]] | None = None, proc: Path = Path("/proc")
) -> list[Finding]:
    """The parts that backends need, then each backend; `probes` (default: all) by the backend's name."""
    probes = probes or {name: partial(_probe, name) for name in BACKENDS}
    findings = [
        _root(),
        _user_namespaces(proc),
        _program("bwrap", "`apt-get install bubblewrap`"),
        _cgroups(),
    ]
    mend = "Optional: install it, add it to the engine's daemon.json, set MOLT_SANDBOX_RUNTIME=runsc."
    return [*findings, _program("runsc", mend), *(_backend(*item) for item in probes.items())]


def _probe(name: str) -> Support:
    return find_backend(name).probe()


def _backend(name: str, probe: Callable[[], Support]) -> Finding:
    try:
        support = probe()
    except SandboxUnavailable as error:
        return Finding(f"backend {name}", False, "cannot run", str(error))
    missing = ", ".join(support.capabilities.missing)
    says = f"trusted code only: does not hold {missing}" if missing else "holds untrusted code"
    return Finding(f"backend {name}", not missing, says, " ".join(support.mends))


def _root() -> Finding:
    mend = "Run as root: user ids of their own and limits per sandbox need it."
    return Finding("root", os.geteuid() == 0, f"user id {os.geteuid()}", mend)


def _user_namespaces(proc: Path) -> Finding:
    most, switch = proc / "sys/user/max_user_namespaces", proc / "sys/kernel/unprivileged_userns_clone"
    number = int(most.read_text()) if most.exists() else 0
    is_on = number > 0 and (not switch.exists() or switch.read_text().strip() != "0")
    mend = (
        "Ordinary users need it: `sysctl user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1`"
    )
    return Finding("user namespaces", is_on, f"at most {number}", mend)


def _program(name: str, mend: str) -> Finding:
    path = shutil.which(name)
    return Finding(name, path is not None, path or "not installed", mend)


def _cgroups() -> Finding:
    try:
        hierarchy = find_hierarchy()
    except SandboxUnavailable as error:
        return Finding("control groups", False, "none for sandboxes", str(error))
    return Finding("control groups", True, f"version {hierarchy.version}, at {hierarchy.parents[0]}", "")
