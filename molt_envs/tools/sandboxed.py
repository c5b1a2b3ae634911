"""A sandbox for each episode, with a process in it that runs what an agent asks for.

In: the files that an episode begins with, then code and commands. Out: what they printed. What the agent's
code does to the process is told to the agent (`ToolError`); a failing sandbox is an `InfrastructureError`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal, TypeVar

from molt_envs.errors import InfrastructureError
from molt_envs.tools.calls import ToolError
from sandboxes import Limits, ProcessEnded, Sandbox, SandboxError, SandboxProcess, open_sandbox
from sandboxes.backends import find_backend, require

PROGRAM = Path(__file__).with_name("sandbox_program.py")
START_TIMEOUT_S = 60.0
"""An interpreter answers in well under a second; at this the machine is taken for broken."""
CALL_TIMEOUT_S = 10.0
SETTLE_TIMEOUT_S = 10.0
LIMITS = Limits(cpu_s=600)
"""The process lives for an episode, so that its processor time is bounded by that of its calls."""

T = TypeVar("T")


@dataclass(frozen=True)
class StartFile:
    """A file that is there when an episode begins."""

    data: bytes
    """What is in it."""
    mode: int = 0o644
    """Its permission bits."""


class Workspace:
    """The sandbox of the running episode, opened when something is first run in it.

    Args:
        backend: name of the sandboxes' backend.
        limits: of each episode.
        call_timeout_s: seconds that one request may take.

    Raises:
        SandboxUnavailable: the backend cannot hold untrusted code here; says why and how to mend it.
    """

    def __init__(self, backend: str, limits: Limits = LIMITS, call_timeout_s: float = CALL_TIMEOUT_S) -> None:
        require(backend, find_backend(backend).probe(), "untrusted")
        self._backend, self._limits, self._timeout_s = backend, limits, call_timeout_s
        self._files: Mapping[str, StartFile] = {}
        self._sandbox: Sandbox | None = None
        self._is_current = False
        self._process: SandboxProcess | None = None
        self._numbers = count()

    @property
    def used(self) -> bool:
        """Whether anything was run in this episode."""
        return self._is_current

    def begin(self, files: Mapping[str, StartFile]) -> None:
        """The next episode begins, with these files."""
        self.end()
        self._files = files

    def end(self) -> None:
        """End all processes of the episode; its sandbox goes when the next one has come."""
        process, self._process, self._is_current = self._process, None, False
        if process is not None:
            with _trouble():
                process.kill()

    def ask(self, kind: Literal["python", "shell"], text: str) -> str:
        """Run code or a command in the episode's process; what was printed.

        Raises:
            ToolError: it took too long or ended the process, which has been started again.
            InfrastructureError: the sandbox itself failed.
        """
        with _trouble():
            self._process = process = self._process or self._start()
            number = next(self._numbers)
            try:
                process.send(json.dumps({"id": number, "kind": kind, "text": text}).encode() + b"\n")
                match json.loads(process.receive_line(self._timeout_s)):
                    case {"id": int(answered), "output": str(output)} if answered == number:
                        return output
                    case _:
                        problem = "the process wrote into its own replies"
            except TimeoutError:
                problem = f"stopped after {self._timeout_s:g} s"
            except ProcessEnded:
                mib = self._limits.memory_bytes >> 20
                problem = f"the process ended: it was killed, crashed or used more than {mib} MiB of memory"
            except (ValueError, RecursionError):
                problem = "the process wrote into its own replies"
            process.kill()
            self._process = self._start()
        raise ToolError(f"{problem}; it was started again and what it held is lost, files are kept")

    def run_trusted(self, code: str) -> bytes:
        """What our own code prints, in a fresh interpreter, when the agent's processes have been ended."""
        with _trouble():
            process, self._process = self._process, None
            if process is not None:
                process.kill()
            return _patiently(lambda: _run(self._open(), code))

    def close(self) -> None:
        """Remove the sandbox. Idempotent."""
        self.end()
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            with _trouble():
                sandbox.close()

    def _open(self) -> Sandbox:
        """The episode's sandbox; the one before is closed after it, which keeps what both share warm."""
        if self._sandbox is None or not self._is_current:
            before, self._sandbox = self._sandbox, open_sandbox(self._backend, limits=self._limits)
            if before is not None:
                before.close()
            for path, file in self._files.items():
                self._sandbox.write_file(path, file.data, file.mode)
            self._is_current = True
        return self._sandbox

    def _start(self) -> SandboxProcess:
        return _patiently(lambda: _start(self._open()))


def _start(sandbox: Sandbox) -> SandboxProcess:
    # As `-I` does, but with a hash seed of ours: the same code prints the same in every process.
    argv = ["python3", "-s", "-P", "-u", "-c", PROGRAM.read_text("utf-8")]
    process = sandbox.start(argv, env={"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"})
    try:
        process.receive_line(START_TIMEOUT_S)
    except (TimeoutError, ProcessEnded) as error:
        process.kill()
        raise SandboxError(f"an interpreter did not start ({error})") from error
    return process


def _run(sandbox: Sandbox, code: str) -> bytes:
    result = sandbox.run_python(code, timeout_s=START_TIMEOUT_S)
    if not result.ok:
        tail = result.stderr[-300:].decode(errors="replace").strip()
        raise SandboxError(f"our own code ended with exit code {result.exit_code}: {tail}")
    return result.stdout


def _patiently(attempt: Callable[[], T]) -> T:
    """Try again for a while: what an agent's fork bomb has left behind may take a moment to go."""
    deadline_s = time.monotonic() + SETTLE_TIMEOUT_S
    while True:
        try:
            return attempt()
        except SandboxError:
            if time.monotonic() > deadline_s:
                raise
        time.sleep(0.1)


@contextmanager
def _trouble() -> Generator[None]:
    try:
        yield
    except SandboxError as error:
        raise InfrastructureError(f"the sandbox failed: {error}") from error
