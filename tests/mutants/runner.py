"""Runs mutants in a copy of the repository: the named test passes there without the fault and fails with it.

In: `Mutant`s. Out: one `Verdict` each. The working tree is never touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("molt_envs", "molt_train", "sandboxes", "tests", "pyproject.toml")
TEST_TIMEOUT_S = 300.0
_PASSED, _FAILED = 0, 1


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant."""

    mutant: Mutant
    """Which."""
    killed: bool
    """The test failed with the fault and passed without it."""
    detail: str
    """Why it was not killed; empty when it was."""


def run_mutants(mutants: Sequence[Mutant]) -> Iterator[Verdict]:
    """Try them one after another, each in the same fresh copy."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder)
        _copy_repository(copy)
        sound = {test: _run_test(copy, test) for test in dict.fromkeys(mutant.test for mutant in mutants)}
        for mutant in mutants:
            yield _try(copy, mutant, sound[mutant.test])


def _try(copy: Path, mutant: Mutant, code_without: int) -> Verdict:
    if code_without != _PASSED:
        return Verdict(mutant, False, f"the test does not pass without the fault (exit {code_without})")
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8")
    path.write_text(mutant.apply(text), encoding="utf-8")
    try:
        code = _run_test(copy, mutant.test)
    finally:
        path.write_text(text, encoding="utf-8")
    if code == _FAILED:
        return Verdict(mutant, True, "")
    return Verdict(mutant, False, "the test passes" if code == _PASSED else f"pytest ended with exit {code}")


def _copy_repository(target: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target / name)


def _run_test(copy: Path, test: str) -> int:
    """Pytest's exit code; a test that hangs has noticed the fault too. No bytecode: files change within a second."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        result = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=TEST_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return _FAILED
    return result.returncode
