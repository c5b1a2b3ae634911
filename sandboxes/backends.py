"""The backends, and `open_sandbox`: in, a name, limits and how far the code is trusted; out, a sandbox.

A backend is imported when it is asked for. One that does not hold what the trust needs is refused, never
replaced.
"""

from __future__ import annotations

from importlib import import_module
from typing import Literal, get_args

from sandboxes.base import Backend, Sandbox, SandboxUnavailable, Support
from sandboxes.limits import Limits

Trust = Literal["untrusted", "trusted"]
"""`untrusted`: written by a policy, every capability is needed. `trusted`: yours, what is there is taken."""

BACKENDS = {name: f"sandboxes.{name}" for name in ("namespace", "zygote", "docker")}
"""Name -> the module whose `BACKEND` it is."""


def find_backend(name: str) -> Backend:
    """The backend of that name; ValueError when there is none, SandboxUnavailable without its packages."""
    if name not in BACKENDS:
        raise ValueError(f"no sandbox backend {name!r}; take one of {', '.join(BACKENDS)}")
    try:
        return import_module(BACKENDS[name]).BACKEND
    except ImportError as error:
        raise SandboxUnavailable(
            f"the {name} backend cannot be imported ({error}); install what it needs: "
            "`python -m sandboxes doctor` says what"
        ) from error


def open_sandbox(
    backend: str = "namespace", *, limits: Limits | None = None, trust: Trust = "untrusted"
) -> Sandbox:
    """A new sandbox of exactly that backend; SandboxUnavailable when it does not reach what `trust` needs."""
    found = find_backend(backend)
    require(backend, found.probe(), trust)
    return found.open(limits or Limits())


def require(backend: str, support: Support, trust: Trust) -> None:
    """Raise SandboxUnavailable when `support` lacks what code of that trust needs."""
    if trust not in get_args(Trust):
        raise ValueError(f"trust is {trust!r}; give one of {', '.join(get_args(Trust))}")
    missing = support.capabilities.missing
    if trust == "untrusted" and missing:
        mends = " ".join(support.mends) or "run as root on Linux with cgroups."
        raise SandboxUnavailable(
            f"the {backend} backend does not hold {', '.join(missing)} here, and untrusted code needs it. "
            f"{mends} For code that you wrote yourself, trust='trusted' accepts the weaker sandbox."
        )
