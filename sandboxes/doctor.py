"""What of isolation works on this machine: in, the machine; out, findings, and how to get what is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    mend: str = ""
    """What to do when it does not work."""


def examine(
    probes: Mapping[str, Callable[[], Support]] | None = None, proc: Path = Path("/proc")
) -> list[Finding]:
    """The parts that backends need, then each backend; `probes` (default: all) by the backend's name."""
    probes = probes if probes is not None else {name: _probe_of(name) for name in BACKENDS}
    parts = [
        _root(),
        _user_namespaces(proc),
        _program("bwrap", "bubblewrap"),
        _cgroups(),
        _engine(),
        _gvisor(),
    ]
    return parts + [_backend(name, probe) for name, probe in probes.items()]


def _probe_of(name: str) -> Callable[[], Support]:
    return lambda: find_backend(name).probe()


def _backend(name: str, probe: Callable[[], Support]) -> Finding:
    try:
        support = probe()
    except SandboxUnavailable as error:
        return Finding(f"backend {name}", False, "cannot run", str(error))
    missing = support.capabilities.missing
    if missing:
        says = f"trusted code only: does not hold {', '.join(missing)}"
        return Finding(f"backend {name}", False, says, " ".join(support.mends))
    return Finding(f"backend {name}", True, "holds untrusted code")


def _root() -> Finding:
    uid = os.geteuid()
    mend = "Run as root: user ids of their own and limits per sandbox need it."
    return Finding("root", uid == 0, f"user id {uid}", "" if uid == 0 else mend)


def _user_namespaces(proc: Path) -> Finding:
    most = proc / "sys/user/max_user_namespaces"
    switch = proc / "sys/kernel/unprivileged_userns_clone"
    number = int(most.read_text()) if most.exists() else 0
    is_on = number > 0 and (not switch.exists() or switch.read_text().strip() != "0")
    mend = (
        "Ordinary users need it: `sysctl user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1`"
    )
    return Finding("user namespaces", is_on, f"at most {number}", "" if is_on else mend)


def _program(name: str, package: str) -> Finding:
    path = shutil.which(name)
    return Finding(
        name, path is not None, path or "not installed", "" if path else f"`apt-get install {package}`"
    )


def _cgroups() -> Finding:
    try:
        hierarchy = find_hierarchy()
    except SandboxUnavailable as error:
        return Finding("control groups", False, "none for sandboxes", str(error))
    return Finding("control groups", True, f"version {hierarchy.version}, at {hierarchy.parents[0]}")


def _engine() -> Finding:
    from sandboxes.docker_engine import connect

    try:
        engine = connect()
    except SandboxUnavailable as error:
        return Finding("docker engine", False, "none", str(error))
    try:
        return Finding("docker engine", True, f"version {engine.api.info().get('ServerVersion')}")
    finally:
        engine.api.close()


def _gvisor() -> Finding:
    path = shutil.which("runsc")
    mend = "Optional: install runsc, add it to the engine's daemon.json, set MOLT_SANDBOX_RUNTIME=runsc."
    return Finding("gVisor runtime", path is not None, path or "not installed", "" if path else mend)
