"""Ids as data, near misses, plug-ins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from molt_envs import EnvEntry, UnknownEnvError, entries, resolve
from tests.shared_data import CHECKOUT


def run_python(code: str, *paths: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter with extra folders on the path."""
    search = os.pathsep.join([*map(str, paths), str(CHECKOUT)])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": search, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def write_plugin(folder: Path, name: str, lines: str) -> None:
    """An installed distribution that consists of its metadata."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[molt_envs.envs]\n{lines}\n")


def test_webshop_is_listed() -> None:
    assert "molt/WebShop-v0" in [entry.env_id for entry in entries()]


@pytest.mark.parametrize("name", ["molt/WebShop-v0", "WebShop-v0"])
def test_the_namespace_may_be_left_out(name: str) -> None:
    assert resolve(name).env_id == "molt/WebShop-v0"


@pytest.mark.parametrize(
    "name", ["molt/WebShp-v0", "webshop", "WebShop-v9", "mol/WebShop-v0", "molt/webshop-v0"]
)
def test_a_near_miss_is_answered_with_the_id(name: str) -> None:
    with pytest.raises(UnknownEnvError, match="did you mean molt/WebShop-v0"):
        resolve(name)


def test_a_far_miss_is_answered_with_the_list() -> None:
    with pytest.raises(UnknownEnvError, match="molt-envs list"):
        resolve("qqqqqqqq")


@pytest.mark.parametrize(
    ("env_id", "entry_point"),
    [("WebShop", "a:B"), ("x/Y", "a:B"), ("x/Y-v0", "a"), ("x/Y-v0", "a:"), ("x/Y-v0", "a-b:C"), ("", "a:B")],
)
def test_an_entry_that_could_not_be_made_is_refused(env_id: str, entry_point: str) -> None:
    with pytest.raises(ValueError):
        EnvEntry(env_id, entry_point, "")


def test_importing_registers_and_imports_no_family() -> None:
    result = run_python(
        "import sys, gymnasium, molt_envs; gymnasium.spec('molt/WebShop-v0');"
        "print([m for m in sys.modules if m.startswith('molt_envs.families')])"
    )
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_an_id_with_its_module_needs_no_import(tmp_path: Path) -> None:
    write_plugin(tmp_path, "their-envs", "their/Toy-v0 = tests.molt_envs.toy:ToyEnv")
    result = run_python("import gymnasium; print(gymnasium.make('molt_envs:their/Toy-v0').spec.id)", tmp_path)
    assert result.stdout == "their/Toy-v0\n", result.stderr


def test_a_plugin_is_registered_without_being_imported(tmp_path: Path) -> None:
    (tmp_path / "their_package.py").write_text("print('imported')\n")
    write_plugin(tmp_path, "their-envs", "their/Maze-v0 = their_package:Maze")
    result = run_python(
        "import gymnasium, molt_envs; e = molt_envs.resolve('their/Maze-v0');"
        "print(gymnasium.spec('their/Maze-v0').entry_point, e.source)",
        tmp_path,
    )
    assert (result.stdout, result.stderr) == ("their_package:Maze their-envs\n", "")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            "molt/WebShop-v0 = their_package:Maze",
            "the id is taken by molt_envs.families.webshop.env:WebShopEnv",
        ),
        ("their/Maze = their_package:Maze", "lacks a namespace or a version"),
        ("their/Maze-v0 = their_package", "not of the form module:Class"),
        ("CartPole-v1 = their_package:Maze", "lacks a namespace"),
        ("no equals sign", "unreadable"),
    ],
)
def test_a_broken_plugin_is_a_warning_that_names_it(tmp_path: Path, lines: str, reason: str) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write_plugin(tmp_path, "their-envs", lines)
    write_plugin(other, "good-envs", "good/Maze-v0 = good_package:Maze")
    result = run_python(
        "import molt_envs; print(sorted(e.env_id for e in molt_envs.entries()))", tmp_path, other
    )
    assert "PluginWarning" in result.stderr
    assert "their-envs" in result.stderr
    assert reason in result.stderr
    assert "'good/Maze-v0'" in result.stdout and "'molt/WebShop-v0'" in result.stdout


def test_two_plugins_with_one_id_clash(tmp_path: Path) -> None:
    for name in ("a-envs", "b-envs"):
        write_plugin(tmp_path, name, f"x/Maze-v0 = {name[0]}_package:Maze")
    result = run_python("import molt_envs; print(molt_envs.resolve('x/Maze-v0').entry_point)", tmp_path)
    assert result.stderr.count("PluginWarning:") == 1
    first = result.stdout.strip()
    assert f"the id is taken by {first} of {first[0]}-envs" in result.stderr


def test_registering_again_changes_nothing() -> None:
    result = run_python(
        "import molt_envs; b = molt_envs.entries(); molt_envs.register_all(); assert molt_envs.entries() == b"
    )
    assert (result.returncode, result.stderr) == (0, "")
