"""Programs in sandboxes that nobody used before: files and a program in, how it ended out."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from molt_envs.errors import InfrastructureError
from sandboxes import ExecResult, Limits, Sandbox, SandboxError, open_sandbox
from sandboxes.backends import find_backend, require

PROGRAM = Path(__file__).with_name("project_program.py")
LIMITS = Limits(wall_s=10, cpu_s=10, output_bytes=200_000)


class FreshSandboxes:
    """Opens a sandbox for each run; the one before is closed after it, which keeps what both share warm.

    Args:
        backend: name of the sandboxes' backend.

    Raises:
        SandboxUnavailable: the backend cannot hold untrusted code here; says why and how to mend it.
    """

    def __init__(self, backend: str) -> None:
        require(backend, find_backend(backend).probe(), "untrusted")
        self._backend = backend
        self._last: Sandbox | None = None

    def run_tests(self, files: Mapping[str, str]) -> ExecResult:
        """Run the project's own tests.

        Raises:
            InfrastructureError: the sandbox itself failed.
        """
        return self._run(f"run_tests(json.loads({json.dumps(files)!r}))")

    def run_calls(self, files: Mapping[str, str], calls: Sequence[tuple[str, str]]) -> object:
        """The JSON value that the program ends with: the outcome of each call; None if it did not get there.

        Raises:
            InfrastructureError: the sandbox itself failed.
        """
        arguments = json.dumps([files, calls])
        result = self._run(f"run_calls(*json.loads({arguments!r}))")
        try:
            return json.loads(result.stdout.rsplit(b"\n", 2)[-2]) if result.ok else None
        except (ValueError, IndexError, RecursionError):
            return None

    def close(self) -> None:
        """Remove the last sandbox. Idempotent."""
        last, self._last = self._last, None
        if last is not None:
            with _trouble():
                last.close()

    def _run(self, call: str) -> ExecResult:
        with _trouble():
            before, self._last = self._last, open_sandbox(self._backend, limits=LIMITS)
            if before is not None:
                before.close()
            return self._last.run_python(f"{PROGRAM.read_text('utf-8')}\n\n{call}\n")


@contextmanager
def _trouble() -> Generator[None]:
    try:
        yield
    except SandboxError as error:
        raise InfrastructureError(f"the sandbox failed: {error}") from error
