"""Runs the attacks on a backend: in, how to open a sandbox, and snippets; out, one `Verdict` each.

Judged from inside (the token that the program prints) and from the host (the witness, a neighbour sandbox,
what is left). A program that says nothing and ends as it should not is `broken`: an attack that never took
place proves nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from sandboxes.attack import leftovers
from sandboxes.attack.catalogue import Snippet
from sandboxes.attack.witness import Witness
from sandboxes.base import ExecResult, ProcessEnded, Sandbox, SandboxError, SandboxFileError
from sandboxes.limits import MIB, Limits

LIMITS = Limits(
    wall_s=4,
    cpu_s=3,
    memory_bytes=96 * MIB,
    num_processes=48,
    disk_bytes=8 * MIB,
    num_files=256,
    output_bytes=64 * 1024,
)
"""Small, so that attacks reach them soon."""
PRELUDE = Path(__file__).parent / "snippets" / "prelude.txt"
AFTER_CALL_S = 1.0
"""How long a killed process may take to vanish."""
PATIENCE_S = 30.0
"""For programs that end by themselves, and for steps on the host: enough on a busy machine."""

Status = Literal["contained", "escaped", "broken"]


@dataclass(frozen=True)
class Verdict:
    """What became of one attack."""

    name: str
    group: str
    tries: str
    status: Status
    evidence: str
    """What was seen."""
    wall_s: float
    """Seconds, the opening of its sandbox included."""


class Suite:
    """A witness and a neighbour on the backend, and the attacks beside them."""

    def __init__(self, open_one: Callable[[], Sandbox]) -> None:
        self._open_one = open_one
        self.marker = f"atk{secrets.token_hex(3)}"
        """How the names of all processes and files of this run begin."""
        self._witness = Witness()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._witness)
            sandbox = stack.enter_context(self._open_one())
            self._neighbour = Neighbour(sandbox, f"neighbour-{self.marker}", self._witness.secret)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, snippets: Sequence[Snippet]) -> Iterator[Verdict]:
        """One verdict after the other."""
        for number, snippet in enumerate(snippets):
            began = time.monotonic()
            marker = f"{self.marker}{number:03d}"
            try:
                status, evidence = self._attack(snippet, marker)
            except SandboxError as error:
                status, evidence = "broken", f"the sandbox failed: {error}"
            wall_s = time.monotonic() - began
            yield Verdict(snippet.name, snippet.group, snippet.tries, status, evidence, wall_s)

    def _attack(self, snippet: Snippet, marker: str) -> tuple[Status, str]:
        """Out: what became of it, and what was seen."""
        with self._open_one() as sandbox:
            timeout_s = LIMITS.wall_s if "timeout" in snippet.endings else PATIENCE_S
            result = sandbox.run_python(self._program(snippet.code, marker), timeout_s=timeout_s)
            results = [(result, snippet.endings)]
            escapes = leftovers.settle(lambda: leftovers.processes_named(marker), AFTER_CALL_S)
            escapes += self._read_back(sandbox, snippet.artifacts)
            _write_back(sandbox, snippet.uploads)
            if snippet.then:
                then = sandbox.run_python(self._program(snippet.then, marker), timeout_s=PATIENCE_S)
                results.append((then, ()))
        if snippet.elsewhere:
            with self._open_one() as other:
                then = other.run_python(self._program(snippet.elsewhere, marker), timeout_s=PATIENCE_S)
                results.append((then, ()))
        for result, _ in results:
            escapes += self._signs(result.stdout + result.stderr)
        escapes += self._witness.faults() + self._neighbour.faults()
        endings = [_ending(result, allowed) for result, allowed in results]
        seen = "; ".join(escapes or [says for _, says in endings])
        if escapes:
            return "escaped", seen
        return ("contained" if all(is_clear for is_clear, _ in endings) else "broken"), seen

    def _program(self, code: str, marker: str) -> str:
        facts = self._witness.facts() | {
            "marker": marker,
            "neighbour_file": self._neighbour.file,
            "memory_bytes": LIMITS.memory_bytes,
            "num_processes": LIMITS.num_processes,
            "disk_bytes": LIMITS.disk_bytes,
            "num_files": LIMITS.num_files,
        }
        return f"{PRELUDE.read_text()}\nHOST = {facts!r}\nmark_process({marker!r})\n{code}"

    def _signs(self, output: bytes) -> list[str]:
        text = output.decode(errors="replace")
        signs = [line[:200] for line in text.splitlines() if line.startswith("ESCAPED")]
        return signs + (["a secret of the host came out"] if self._witness.secret in text else [])

    def _read_back(self, sandbox: Sandbox, paths: Sequence[str]) -> list[str]:
        signs: list[str] = []
        for path in paths:
            began = time.monotonic()
            try:
                data = sandbox.read_file(path, 65536)
            except SandboxFileError:
                data = b""
            if self._witness.secret.encode() in data or time.monotonic() - began > PATIENCE_S:
                signs.append(f"reading {path} back gave a host file, or kept the host waiting")
        return signs


class Neighbour:
    """Another episode's sandbox, with a file and a process, which no attack may touch."""

    def __init__(self, sandbox: Sandbox, file: str, secret: str) -> None:
        self.file = file
        self._sandbox, self._secret = sandbox, secret
        sandbox.write_file(file, secret.encode())
        self._process = sandbox.start(["cat"])

    def faults(self) -> list[str]:
        """What is wrong with it, in words."""
        try:
            self._process.send(b"alive\n")
            self._process.receive_line(PATIENCE_S)
            if self._sandbox.read_file(self.file, 4096) == self._secret.encode():
                return []
            return ["the neighbour's file was changed"]
        except (ProcessEnded, TimeoutError, SandboxError, SandboxFileError) as error:
            return [f"the neighbour was hit: {error}"]


def _ending(result: ExecResult, allowed: Sequence[str]) -> tuple[bool, str]:
    """Whether the program gave a verdict or ended as it may, and how."""
    ended = {
        "timeout": result.timed_out,
        "memory": result.out_of_memory or b"MemoryError" in result.stderr,
        "killed": result.exit_code is None or result.exit_code >= 128,
        "cut": result.output_cut,
    }
    for line in result.stdout.decode(errors="replace").splitlines():
        if line.startswith("CONTAINED"):
            return True, line.removeprefix("CONTAINED").strip()
    for ending in allowed:
        if ended[ending]:
            return True, f"ended: {ending}"
    error = result.stderr[-300:].decode(errors="replace").strip()
    return False, f"no verdict; exit code {result.exit_code}: {error}"


def _write_back(sandbox: Sandbox, paths: Sequence[str]) -> None:
    """As a host that uploads files; whether it was led astray shows on the witness's files."""
    for path in paths:
        try:
            sandbox.write_file(path, b"forged")
        except SandboxFileError:
            continue
