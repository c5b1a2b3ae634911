"""Isolation of untrusted code: in, commands, programs and files; out, their results.

with open_sandbox(limits=Limits(wall_s=5)) as sandbox:
    print(sandbox.run_python("print(6 * 7)").stdout)
"""

from sandboxes.backends import BACKENDS, Trust, find_backend, open_sandbox
from sandboxes.base import (
    WORK_FOLDER,
    Backend,
    Capabilities,
    ExecResult,
    ProcessEnded,
    Sandbox,
    SandboxError,
    SandboxFileError,
    SandboxProcess,
    SandboxUnavailable,
    Support,
)
from sandboxes.limits import Limits

__all__ = [
    "BACKENDS",
    "WORK_FOLDER",
    "Backend",
    "Capabilities",
    "ExecResult",
    "Limits",
    "ProcessEnded",
    "Sandbox",
    "SandboxError",
    "SandboxFileError",
    "SandboxProcess",
    "SandboxUnavailable",
    "Support",
    "Trust",
    "find_backend",
    "open_sandbox",
]
