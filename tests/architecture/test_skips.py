"""With `CI=true`, a skip that is not listed fails; elsewhere it stays one. Pytest runs on a made-up file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SKIPS = {
    "in the test": "import pytest\ndef test_a():\n    pytest.skip('no data')\n",
    "by a mark": "import pytest\n@pytest.mark.skip(reason='no data')\ndef test_a():\n    pass\n",
    "whole module": "import pytest\npytest.skip('no data', allow_module_level=True)\n",
    "missing import": "import pytest\npytest.importorskip('no_such_module_at_all')\n",
}
EXPECTED_FAILURE = "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_a():\n    assert False\n"


def run(tmp_path: Path, text: str, ci: str) -> subprocess.CompletedProcess[str]:
    """Pytest's answer for one file, with this project's hooks."""
    (tmp_path / "test_made_up.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir"]
    return subprocess.run(
        [*command, str(tmp_path), "-c", os.devnull, str(tmp_path)],
        env={**os.environ, "CI": ci, "PYTHONPATH": str(CHECKOUT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("text", SKIPS.values(), ids=SKIPS.keys())
def test_unlisted_skip_fails_in_ci(text: str, tmp_path: Path) -> None:
    answer = run(tmp_path, text, ci="true")
    assert answer.returncode not in {0, 5}
    assert "allowed_skips.txt does not list it" in answer.stdout


@pytest.mark.parametrize("text", SKIPS.values(), ids=SKIPS.keys())
def test_skip_stays_a_skip_elsewhere(text: str, tmp_path: Path) -> None:
    answer = run(tmp_path, text, ci="")
    assert "1 skipped" in answer.stdout
    assert "failed" not in answer.stdout


def test_expected_failure_is_no_skip(tmp_path: Path) -> None:
    answer = run(tmp_path, EXPECTED_FAILURE, ci="true")
    assert answer.returncode == 0
    assert "1 xfailed" in answer.stdout
