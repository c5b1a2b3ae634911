"""A package as it is written installs, is listed, checked and evaluated, and passes its own tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from molt_envs.scaffold.write import env_id_of, kinds, write_package

CHECKOUT = Path(__file__).resolve().parents[3]


def run(folder: Path, *arguments: str, timeout_s: float = 300) -> str:
    """Run Python in `folder` with the installed package and this checkout on the path."""
    path = os.pathsep.join([str(folder / "site"), str(CHECKOUT)])
    answer = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.mark.real
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", kinds())
def test_a_new_package_installs_is_listed_checked_and_evaluated(tmp_path: Path, kind: str) -> None:
    name = f"fresh_{kind.partition('-')[0]}"
    env_id = env_id_of(name)
    target = write_package(name, kind, tmp_path)
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", "site")
    run(tmp_path, "-m", "pip", "install", *options, str(target))
    listed = json.loads(run(tmp_path, "-m", "molt_envs.cli", "list", "--json"))
    assert env_id in {entry["env_id"] for entry in listed}
    run(tmp_path, "-m", "molt_envs.cli", "check", env_id)
    evaluate = ("eval", env_id, "--policy", "oracle", "--episodes", "10", "--out", "results")
    run(tmp_path, "-m", "molt_envs.cli", *evaluate)
    summary = json.loads((tmp_path / "results" / "summary.json").read_text(encoding="utf-8"))
    (environment,) = summary["environments"]
    assert environment["passes"]["1"]["value"] == 1.0
    assert environment["num_tasks"] == 10
    run(tmp_path, "-m", "molt_envs.cli", "replay", "results")
    run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(target / "tests"))
