"""Runs the tests of mutants in copies of the project.

In: a project's root and mutants. Out: a `Verdict` for each; the project itself is not changed.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.catalogue import Mutant

TEST_TIMEOUT_S = 300.0
_PASSED, _FAILED = 0, 1
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "runs")


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    """The mutant."""
    killed: bool
    """Whether its test ran and failed."""
    reason: str
    """What was seen, in a few words; for a mutant that was not killed the end of pytest's output too."""


def judge(root: Path, mutants: Sequence[Mutant], num_workers: int = 1) -> Iterator[Verdict]:
    """Verdicts in the order of the mutants, as they are found.

    A test kills its mutant if it passes on the plain copy and fails on the mutated one; an error before the
    test runs, such as a file that cannot be imported, kills nothing.
    """
    with ExitStack() as stack:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for _ in range(num_workers):
            copy = Path(stack.enter_context(TemporaryDirectory(prefix="mutants-"))) / "project"
            shutil.copytree(root, copy, ignore=_NOT_COPIED)
            copies.put(copy)
        pool = stack.enter_context(ThreadPoolExecutor(num_workers))
        yield from pool.map(lambda mutant: _judge_one(copies, mutant), mutants)


def _judge_one(copies: queue.SimpleQueue[Path], mutant: Mutant) -> Verdict:
    copy = copies.get(timeout=TEST_TIMEOUT_S * 4)
    try:
        code, output = _run_test(copy, mutant.test)
        if code != _PASSED:
            return Verdict(mutant, False, f"without the fault the test gives exit status {code}\n{output}")
        return _judge_mutated(copy, mutant)
    finally:
        copies.put(copy)


def _judge_mutated(copy: Path, mutant: Mutant) -> Verdict:
    source = (copy / mutant.file).read_bytes()
    try:
        mutant.apply(copy)
        code, output = _run_test(copy, mutant.test)
    finally:
        (copy / mutant.file).write_bytes(source)
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
