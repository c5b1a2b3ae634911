"""The interface that every backend implements: in, code or a command and files; out, `ExecResult` and bytes.

A backend is one module with one `Backend` value. What goes wrong inside (a time-out, a crash, much output) is
the code's doing and is told in the result; what goes wrong outside raises `SandboxError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Protocol, Self

from sandboxes.limits import Limits

WORK_FOLDER = "/work"
"""The writable folder inside: private to one sandbox, kept between its calls, gone with `close()`."""


class SandboxError(RuntimeError):
    """The sandbox itself failed (infrastructure, not the code inside): the result is unknown; try again."""


class SandboxUnavailable(SandboxError):
    """A backend cannot run here, or does not reach the policy asked for; says why and how to mend it."""


class SandboxFileError(ValueError):
    """A path inside that is missing, too large, not a plain file, or leads out of the work folder."""


class ProcessEnded(RuntimeError):
    """A started process has ended, closed its output, or wrote a line that is longer than `output_bytes`."""


@dataclass(frozen=True)
class ExecResult:
    """How one call ended."""

    exit_code: int | None
    """As a shell tells it: 128 + N after signal N. None: killed at its time-out."""
    stdout: bytes
    """At most `output_bytes`."""
    stderr: bytes
    """At most `output_bytes`."""
    timed_out: bool
    """The wall time or the processor time ran out."""
    out_of_memory: bool
    """The kernel killed a process of this sandbox at its memory limit during this call."""
    output_cut: bool
    """A stream went over `output_bytes` and was closed there."""
    wall_s: float
    """Seconds from the request to the end of the last process."""

    @property
    def ok(self) -> bool:
        """Exit code 0, nothing cut."""
        return self.exit_code == 0 and not self.output_cut


@dataclass(frozen=True)
class Capabilities:
    """What a backend holds on this machine. Untrusted code needs every one."""

    isolated_files: bool
    """Host files cannot be read or changed, apart from system libraries (read only)."""
    isolated_network: bool
    """No network, the host's loopback included."""
    isolated_processes: bool
    """Processes outside are neither seen nor signalled, and none inside outlives its call."""
    memory_total: bool
    """One memory limit holds for all processes together."""
    num_processes: bool
    """The number of processes is limited per sandbox."""
    disk_quota: bool
    """Bytes and inodes of the work folder are limited."""
    syscall_filter: bool
    """Calls that reach the kernel's rarely used parts are denied."""
    unprivileged_uid: bool
    """The code runs as a user id that owns nothing on the host."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the capabilities that are not held."""
        return tuple(field.name for field in fields(self) if not vars(self)[field.name])


@dataclass(frozen=True)
class Support:
    """What a backend found out about this machine."""

    capabilities: Capabilities
    """What it would hold here."""
    mends: tuple[str, ...] = ()
    """For what is missing: the reason and what to do, one sentence each."""


Words = Sequence[str]
"""A command, word by word."""
Env = Mapping[str, str] | None
"""Variables on top of the few that every call gets."""


class SandboxProcess(Protocol):
    """A process inside that lines go to and come from, in one thread at a time; its stderr is discarded."""

    def send(self, data: bytes) -> None:
        """Write to its stdin; ProcessEnded at its end, TimeoutError when it reads nothing for wall_s."""
        ...

    def receive_line(self, timeout_s: float) -> bytes:
        """Its next line of stdout with the newline; TimeoutError when none comes, ProcessEnded at its end."""
        ...

    def kill(self) -> None:
        """End it and all its children, and wait for that. Idempotent."""
        ...


class Sandbox(Protocol):
    """One isolated work folder and the calls made on it. Usable from several threads."""

    @property
    def capabilities(self) -> Capabilities:
        """What this sandbox holds."""
        ...

    def run(
        self, argv: Words, *, stdin: bytes = b"", timeout_s: float | None = None, env: Env = None
    ) -> ExecResult:
        """Run a command in the work folder; no process of it is left when this returns.

        Exit code 127: no such command; 126: words that no system takes (a NUL, lone surrogates, 128 KiB).
        """
        ...

    def run_python(self, code: str, *, timeout_s: float | None = None) -> ExecResult:
        """Run a program in a fresh isolated interpreter (as `python -I`), in the work folder."""
        ...

    def start(self, argv: Words, *, env: Env = None) -> SandboxProcess:
        """Start a command that is talked to; it ends at `kill()` or `close()`; ValueError for bad words."""
        ...

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """A regular file of the work folder (`path` relative or below /work); SandboxFileError otherwise."""
        ...

    def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file of the work folder, with its folders, owned by the user inside."""
        ...

    def close(self) -> None:
        """Kill what runs and remove all that the sandbox had. Idempotent."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


@dataclass(frozen=True)
class Backend:
    """One way to isolate; `sandboxes.backends` lists them."""

    name: str
    """As given to `open_sandbox`."""
    probe: Callable[[], Support]
    """What it holds on this machine; SandboxUnavailable when it cannot run at all."""
    open: Callable[[Limits], Sandbox]
    """A new sandbox."""
