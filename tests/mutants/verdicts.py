"""Runs the tests of mutants in a copy of the project.

In: a project's root and mutants. Out: a `Verdict` for each; the project itself is not changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.mutant import Mutant

TEST_TIMEOUT_S = 300.0
_PASSED, _FAILED = 0, 1
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "runs")


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    """The mutant."""
    killed: bool
    """Whether its test passed without the fault, and ran and failed with it."""
    reason: str
    """What was seen, in a few words; for a mutant that was not killed the end of pytest's output too."""


def judge(root: Path, mutants: Sequence[Mutant]) -> Iterator[Verdict]:
    """Verdicts in the order of the mutants, as they are found.

    A test kills its mutant if it passes on the plain copy and fails on the mutated one; an error before the
    test runs, such as a file that cannot be imported, kills nothing.
    """
    with TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "project"
        shutil.copytree(root, copy, ignore=_NOT_COPIED)
        plain: dict[str, tuple[int, str]] = {}
        for mutant in mutants:
            if mutant.test not in plain:
                plain[mutant.test] = _run_test(copy, mutant.test)
            code, output = plain[mutant.test]
            if code == _PASSED:
                yield _judge_mutated(copy, mutant)
            else:
                reason = f"without the fault the test gives exit status {code}\n{output}"
                yield Verdict(mutant, False, reason)


def _judge_mutated(copy: Path, mutant: Mutant) -> Verdict:
    path = copy / mutant.file
    source = path.read_text(encoding="utf-8")
    try:
        path.write_text(mutant.apply(source), encoding="utf-8")
        code, output = _run_test(copy, mutant.test)
    finally:
        path.write_text(source, encoding="utf-8")
    if code == _FAILED:
        return Verdict(mutant, True, "killed")
    seen = "the test passes on the fault" if code == _PASSED else f"the test did not run: exit status {code}"
    return Verdict(mutant, False, f"{seen}\n{output}")


def _run_test(copy: Path, test: str) -> tuple[int, str]:
    """pytest's exit status and the end of its output. No bytecode: it is found by a file's time and size."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=TEST_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return -1, f"no end after {TEST_TIMEOUT_S:.0f} s"
    return done.returncode, (done.stdout + done.stderr)[-2000:]
