"""The command line: quick help, one line per user error, what the light commands print."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from molt_train.cli import app
from molt_train.cli_errors import report_user_errors
from molt_train.config import load_config, parse_config
from tests.molt_train.monitor.example_run import write_example_run


def invoke(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from molt_train.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'numpy', 'gymnasium', 'pydantic'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    best_s = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        best_s = min(best_s, time.perf_counter() - start)
        assert done.returncode == 0, done.stderr
        assert "Train language-model agents" in done.stdout
    assert best_s < 0.5


@pytest.mark.parametrize(
    "command", ["run", "sft", "eval", "demo", "new-model", "config", "recipes", "inspect", "report"]
)
def test_every_command_has_help(command: str) -> None:
    result = invoke(command, "--help")
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 5


def test_config_prints_a_recipe_that_can_be_read_again() -> None:
    for plain in ([], ["--plain"]):
        result = invoke("config", "webshop", "rollout.group_size=4", "--model", 'a "b"', *plain)
        assert result.exit_code == 0
        expected = load_config("webshop", ["rollout.group_size=4", "model.path='a \"b\"'"])
        assert parse_config(tomllib.loads(result.output)) == expected


def test_the_shorthands_come_after_the_overrides() -> None:
    result = invoke("config", "webshop", "run.dir=a", "--dir", "b")
    assert tomllib.loads(result.output)["run"]["dir"] == "b"


def test_recipes_are_listed() -> None:
    assert "webshop" in invoke("recipes").output


@pytest.mark.parametrize("command", ["run", "sft", "eval", "config"])
def test_an_unknown_key_is_one_line_and_status_2(command: str) -> None:
    result = invoke(command, "webshop", "rollout.grop_size=4")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ") and len(result.stderr.splitlines()) == 1
    assert "did you mean 'rollout.group_size'" in result.stderr


def test_debug_shows_the_traceback_wherever_it_stands() -> None:
    for args in (["--debug", "config", "nothing"], ["config", "nothing", "--debug"]):
        result = invoke(*args)
        assert isinstance(result.exception, ValueError)


def test_a_report_is_made_again(tmp_path: Path) -> None:
    run = write_example_run(tmp_path / "run", num_steps=2)
    result = invoke("report", str(run))
    assert result.exit_code == 0 and (run / "report.html").is_file()


def test_a_folder_without_a_run_is_one_line_and_status_2(tmp_path: Path) -> None:
    for command in ("report", "inspect"):
        result = invoke(command, str(tmp_path / "absent"))
        assert result.exit_code == 2 and "no run folder" in result.stderr


def test_episodes_are_inspected(tmp_path: Path) -> None:
    run = write_example_run(tmp_path / "run", num_steps=1)
    assert "test:8" in invoke("inspect", str(run)).output
    assert "search[red shoes]" in invoke("inspect", str(run), "1").output


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("seven is odd"), "error: seven is odd"),
        (FileNotFoundError(2, "No such file or directory", "a/b"), "error: No such file or directory: a/b"),
        (
            ModuleNotFoundError("No module named 'torch'", name="torch"),
            r"error: .*pip install 'molt-rl\[train\]'",
        ),
    ],
)
def test_user_errors_become_a_line(
    error: Exception, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit), report_user_errors(debug=False):
        raise error
    captured = capsys.readouterr().err.strip()
    assert captured.startswith("error: ") and re.search(message, captured)


@pytest.mark.parametrize(
    "error", [KeyError("ours"), RuntimeError("ours"), ModuleNotFoundError("x", name="molt_train.x")]
)
def test_errors_of_ours_keep_their_traceback(error: Exception) -> None:
    with pytest.raises(type(error)), report_user_errors(debug=False):
        raise error


@pytest.mark.parametrize(
    ("package", "override"), [("ray", "cluster.enabled=true"), ("vllm", "rollout.engine=vllm")]
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    package: str, override: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    for name in [name for name in sys.modules if name.startswith("molt_train.cluster.")]:
        monkeypatch.delitem(sys.modules, name)
    result = CliRunner().invoke(app, ["run", "webshop", override, "--dir", str(tmp_path / "run")])
    assert result.exit_code == 2
    assert f"pip install 'molt-rl[{package}]'" in result.output
