"""A call that runs: in, the host's ends of its streams and its report; out, its output and how it ended.

`gather` waits for a whole call; `KeptProcess` is one that is talked to.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from sandboxes.base import ProcessEnded, SandboxError
from sandboxes.keeper import KeeperGone, Report, Starter
from sandboxes.limits import Limits

KILL_TIMEOUT_S = 10.0
"""A killed call is gone in milliseconds; at this the sandbox is taken for broken."""
EXIT_NOT_STARTED = 126
"""Of a call that no process could be made for, as in shells."""
_CHUNK_BYTES = 65536


@dataclass
class Outcome:
    """How a call ended; filled in while it runs."""

    outputs: dict[int, bytearray]
    """Host's end of each stream -> what came."""
    started: bool = False
    """The command itself was reached."""
    exit_code: int | None = None
    timed_out: bool = False
    output_cut: bool = False
    error: str = ""
    """What failed before the command was reached."""


def gather(
    starter: Starter, report: Report, streams: tuple[int, ...], timeout_s: float, output_bytes: int
) -> Outcome:
    """Read until the call has ended, killing it at its time-out; closes the streams and the report."""
    outcome = Outcome({stream: bytearray() for stream in streams})
    open_streams = set(streams)
    deadline_s = time.monotonic() + timeout_s
    poll = select.poll()
    for descriptor in (*streams, report.connection.fileno()):
        poll.register(descriptor, select.POLLIN)
    try:
        while open_streams or outcome.exit_code is None:
            ready = poll.poll(max(0.0, deadline_s - time.monotonic()) * 1000)
            if not ready and time.monotonic() >= deadline_s:
                if outcome.timed_out:
                    raise SandboxError(f"a call outlives SIGKILL for {KILL_TIMEOUT_S} s; open a new sandbox")
                outcome.timed_out = True
                deadline_s = time.monotonic() + KILL_TIMEOUT_S
                starter.kill(report.call)
            for descriptor, _ in ready:
                if descriptor not in open_streams:
                    _take_report(report, outcome)
                    if outcome.exit_code is not None:
                        poll.unregister(descriptor)
                elif not _take_output(descriptor, outcome, output_bytes):
                    poll.unregister(descriptor)
                    open_streams.discard(descriptor)
                    os.close(descriptor)
    finally:
        if outcome.exit_code is None:  # An interrupt: nothing waits for the call any more.
            starter.kill(report.call)
        for descriptor in open_streams:
            os.close(descriptor)
        report.connection.close()
    return outcome


def _take_report(report: Report, outcome: Outcome) -> None:
    message = report.receive()
    outcome.started = outcome.started or "started" in message
    outcome.error = message.get("error", outcome.error)
    if "exit_code" in message:
        outcome.exit_code = message["exit_code"]
    elif "gone" in message:
        if not outcome.error:
            raise KeeperGone("the keeper of the sandboxes ended in a call; open a new sandbox")
        outcome.exit_code = EXIT_NOT_STARTED


def _take_output(descriptor: int, outcome: Outcome, output_bytes: int) -> bool:
    """Read once; whether the stream goes on."""
    output = outcome.outputs[descriptor]
    chunk = os.read(descriptor, _CHUNK_BYTES)
    room = output_bytes - len(output)
    output += chunk[:room]
    outcome.output_cut = outcome.output_cut or len(chunk) > room
    return 0 < len(chunk) <= room


@dataclass
class KeptProcess:
    """A `SandboxProcess`: the host's ends of a call that goes on."""

    starter: Starter
    report: Report
    stdin: int
    """Non-blocking."""
    stdout: int
    limits: Limits
    """`send` waits for `wall_s`; no line is longer than `output_bytes`."""
    forget: Callable[[KeptProcess], None]
    """Called once when it has ended."""
    received: bytearray = field(default_factory=bytearray)
    """Output that makes no line yet."""
    ended: bool = False

    def send(self, data: bytes) -> None:
        """See `SandboxProcess`."""
        view = memoryview(data)
        deadline_s = time.monotonic() + self.limits.wall_s
        while view:
            self._wait(self.stdin, select.POLLOUT, deadline_s, "read its input")
            try:
                view = view[os.write(self.stdin, view) :]
            except BrokenPipeError as error:
                raise ProcessEnded("the process has closed its input or has ended") from error

    def receive_line(self, timeout_s: float) -> bytes:
        """See `SandboxProcess`."""
        deadline_s = time.monotonic() + timeout_s
        while (end := self.received.find(b"\n") + 1) == 0:
            if len(self.received) > self.limits.output_bytes:
                raise ProcessEnded(f"the process wrote a line of over {self.limits.output_bytes} bytes")
            self._wait(self.stdout, select.POLLIN, deadline_s, "write a line")
            chunk = os.read(self.stdout, _CHUNK_BYTES)
            if not chunk:
                raise ProcessEnded("the process has closed its output or has ended")
            self.received += chunk
        line = bytes(self.received[:end])
        del self.received[:end]
        return line

    def _wait(self, descriptor: int, event: int, deadline_s: float, what: str) -> None:
        if self.ended:
            raise ProcessEnded("the process was killed")
        poll = select.poll()
        poll.register(descriptor, event)
        if not poll.poll(max(0.0, deadline_s - time.monotonic()) * 1000):
            raise TimeoutError(f"the process did not {what} in time; kill it or wait on")

    def kill(self) -> None:
        """See `SandboxProcess`."""
        if self.ended:
            return
        self.ended = True
        os.close(self.stdin)
        try:
            self.starter.kill(self.report.call)
            with suppress(KeeperGone):  # And with it the process.
                gather(self.starter, self.report, (self.stdout,), KILL_TIMEOUT_S, 1)
        finally:
            self.forget(self)
