"""Packages from templates: what is written, and names that are refused."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from molt_envs.cli import app
from molt_envs.scaffold.write import kinds, write_package

CHECKOUT = Path(__file__).resolve().parents[3]


def test_the_kinds_are_the_folders() -> None:
    assert kinds() == ("multi-agent", "sandboxed", "text", "tool", "vision")


@pytest.mark.parametrize("kind", kinds())
def test_a_package_is_complete_and_parses(tmp_path: Path, kind: str) -> None:
    target = write_package("my_env", kind, tmp_path)
    files = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert files == {
        "README.md",
        "pyproject.toml",
        "my_env/__init__.py",
        "my_env/env.py",
        "my_env/tasks.py",
        "tests/test_conformance.py",
        "tests/test_rules.py",
    }
    for path in target.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"))
        assert "$" not in path.read_text(encoding="utf-8")
    project = tomllib.loads((target / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["molt_envs.envs"] == {"my_env/MyEnv-v0": "my_env.env:MyEnv"}
    assert [path.name for path in tmp_path.iterdir()] == ["my_env"]


@pytest.mark.parametrize("kind", kinds())
def test_a_package_is_in_the_projects_own_style(tmp_path: Path, kind: str) -> None:
    write_package("my_env", kind, tmp_path)
    config = ["--config", str(CHECKOUT / "pyproject.toml"), "--no-cache"]
    for command in (["check", *config, "--ignore", "D103,I001"], ["format", "--check", *config]):
        answer = subprocess.run(
            [sys.executable, "-m", "ruff", *command, str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("name", ["", "My_env", "my-env", "1env", "my__env", "class", "../x", "a b", "é"])
def test_a_bad_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is no name for a package"):
        write_package(name, "text", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["numpy", "json", "tests", "molt_envs"])
def test_a_name_that_is_taken_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="exists already"):
        write_package(name, "text", tmp_path)


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "my_env").mkdir()
    with pytest.raises(ValueError, match="--dir"):
        write_package("my_env", "text", tmp_path)
    assert list((tmp_path / "my_env").iterdir()) == []


def test_an_unknown_kind_names_those_that_there_are(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["new", "my_env", "--kind", "visual", "--dir", str(tmp_path)])
    assert result.exit_code == 2
    assert "multi-agent, sandboxed, text, tool, vision" in result.stderr


def test_the_command_says_what_comes_next(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["new", "maze", "--dir", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "molt-envs check maze/MazeEnv-v0" in result.output


def test_a_folder_that_cannot_be_made_is_answered_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = CliRunner().invoke(app, ["new", "maze", "--dir", str(tmp_path / "file" / "below")])
    assert result.exit_code == 2
    assert result.stderr.startswith("molt-envs: ")
