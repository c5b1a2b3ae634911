"""The install script's decisions; the installing itself is what every make target does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from scripts import install

SCRIPTS = Path(install.__file__).parent


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The script's answer."""
    command = [sys.executable, str(SCRIPTS / "install.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def stamp(venv: Path, profile: str, digest: str) -> None:
    venv.mkdir()
    (venv / install.STAMP).write_text(json.dumps({"profile": profile, "hash": digest}), encoding="utf-8")


def test_right_stamp_ends_the_work_at_once(tmp_path: Path) -> None:
    stamp(tmp_path / "venv", "test", install._hash("test"))
    answer = run("test", "--venv", str(tmp_path / "venv"))
    assert answer.returncode == 0
    assert "already serves test" in answer.stdout
    assert not (tmp_path / "venv" / "bin").exists()


def test_larger_profile_serves_a_smaller_one(tmp_path: Path) -> None:
    stamp(tmp_path / "venv", "test", install._hash("test"))
    assert install._is_installed("train-cpu", tmp_path / "venv" / install.STAMP)


def test_smaller_profile_does_not_serve_a_larger_one(tmp_path: Path) -> None:
    stamp(tmp_path / "venv", "hub", install._hash("hub"))
    assert not install._is_installed("test", tmp_path / "venv" / install.STAMP)


def test_changed_requirements_void_the_stamp(tmp_path: Path) -> None:
    stamp(tmp_path / "venv", "test", "another")
    assert not install._is_installed("test", tmp_path / "venv" / install.STAMP)


def test_missing_or_torn_stamp_is_no_stamp(tmp_path: Path) -> None:
    assert not install._is_installed("test", tmp_path / install.STAMP)
    (tmp_path / install.STAMP).write_text('{"profile":', encoding="utf-8")
    assert not install._is_installed("test", tmp_path / install.STAMP)


def test_unknown_profile_names_the_known_ones() -> None:
    answer = run("gpu")
    assert answer.returncode == 2
    assert "hub" in answer.stderr and "vllm-cpu" in answer.stderr


def test_every_profile_has_its_files() -> None:
    named = {name for pinned, loose in install.PROFILES.values() for name in [*pinned, *loose]}
    assert {name for name in named if not (install.REQUIREMENTS / name).is_file()} == set()


def test_no_usable_python_gets_a_sentence() -> None:
    answer = subprocess.run(
        ["sh", str(SCRIPTS / "find_python.sh")],
        env={"PYTHON": "no-such-python", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr.startswith("No Python 3.11 or newer with the venv module was found")
