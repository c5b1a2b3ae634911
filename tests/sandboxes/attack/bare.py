"""A backend that isolates nothing: on it, the attack suite must cry out. For harmless snippets only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from sandboxes.base import Backend, Capabilities, ExecResult, SandboxFileError, Support
from sandboxes.limits import Limits

NOTHING = Capabilities(**dict.fromkeys(Capabilities.__annotations__, False))


class BareProcess:
    def __init__(self, argv: Sequence[str]) -> None:
        self.popen = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self.stdin, self.stdout = self.popen.stdin, self.popen.stdout

    def send(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def receive_line(self, timeout_s: float) -> bytes:
        return self.stdout.readline()

    def kill(self) -> None:
        self.popen.kill()
        self.popen.communicate()


class BareSandbox:
    """A folder and plain processes."""

    capabilities = NOTHING

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.folder = Path(tempfile.mkdtemp(prefix="molt-bare-"))
        self.processes: list[BareProcess] = []
        self.forgotten = os.open("/dev/null", os.O_RDONLY)

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        began = time.monotonic()
        done = subprocess.run(
            argv, input=stdin, capture_output=True, cwd=self.folder, timeout=30, pass_fds=[self.forgotten]
        )
        wall_s = time.monotonic() - began
        return ExecResult(done.returncode, done.stdout, done.stderr, False, False, False, wall_s)

    def run_python(self, code: str, *, timeout_s: float | None = None) -> ExecResult:
        return self.run([sys.executable, "-"], stdin=code.encode())

    def start(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> BareProcess:
        self.processes.append(BareProcess(argv))
        return self.processes[-1]

    def read_file(self, path: str, max_bytes: int) -> bytes:
        try:
            return (self.folder / path).read_bytes()[:max_bytes]
        except OSError as error:
            raise SandboxFileError(path) from error

    def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        (self.folder / path).write_bytes(data)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        os.close(self.forgotten)
        shutil.rmtree(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


BARE = Backend("bare", lambda: Support(NOTHING), BareSandbox)
