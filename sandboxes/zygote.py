"""The fast backend for Python snippets: in, code; out, its result, from a fork of a warm interpreter.

The keeper, which is such an interpreter, forks into fresh namespaces for each snippet; nothing is executed
anew. It holds what `namespace` holds, whose way commands and started processes take. The snippets of one
driver share their hash seed and the layout of their memory.
"""

from __future__ import annotations

import os

from sandboxes.base import Backend, ExecResult, SandboxUnavailable, Support
from sandboxes.keeper import memory_file
from sandboxes.limits import Limits
from sandboxes.namespace import NamespaceSandbox
from sandboxes.namespace import probe as probe_namespace


def probe() -> Support:
    """What the backend holds here; SandboxUnavailable where `namespace` is, and without root."""
    support = probe_namespace()
    if os.getuid() != 0:
        raise SandboxUnavailable("the zygote backend needs root; use the namespace backend, or run as root")
    return support


class ZygoteSandbox(NamespaceSandbox):
    """A `Sandbox` whose `run_python` takes the fast path."""

    def run_python(self, code: str, *, timeout_s: float | None = None) -> ExecResult:
        """See `Sandbox`."""
        with memory_file(b"") as stdin, memory_file(code.encode(errors="surrogatepass")) as code_file:
            return self._call(None, None, [stdin, code_file], timeout_s)


def _open(limits: Limits) -> ZygoteSandbox:
    return ZygoteSandbox(limits, probe().capabilities)


BACKEND = Backend("zygote", probe, _open)
