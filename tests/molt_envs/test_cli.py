"""The command line: lists, facts, a game by hand, and mistakes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pictures
from typer.testing import CliRunner, Result

from molt_envs import EnvEntry, registry
from molt_envs.cli import app
from tests.molt_envs.toy import TOY_ID, register_toy


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy environment, known to the hub while a test runs."""
    register_toy()
    entry = EnvEntry(TOY_ID, "tests.molt_envs.toy:ToyEnv", "Say the secret word", "tests")
    monkeypatch.setitem(registry._entries, TOY_ID, entry)


def run(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=typed)


def test_help_names_the_commands() -> None:
    output = run("--help").output
    assert all(name in output for name in ("list", "info", "play", "check"))


def test_list_shows_every_environment() -> None:
    result = run("list", "--json")
    assert {"molt/WebShop-v0", TOY_ID} <= {entry["env_id"] for entry in json.loads(result.output)}
    assert "WebShop" in run("list").output


def test_info_gives_the_card() -> None:
    facts = json.loads(run("info", TOY_ID, "--json").output)
    assert (facts["splits"], facts["max_turns"], facts["reward_range"]) == (
        {"train": 6, "test": 3},
        4,
        [-0.1, 1.0],
    )
    assert "Say one word at a time." in run("info", TOY_ID).output


@pytest.mark.parametrize("command", ["info", "play", "check"])
def test_an_unknown_id_is_answered_with_a_suggestion(command: str) -> None:
    result = run(command, "WebShp-v0")
    assert result.exit_code == 2
    assert "did you mean molt/WebShop-v0?" in result.stderr


def test_a_person_can_win() -> None:
    result = run("play", TOY_ID, "--task", "train:0", typed="wrong\nrød\n")
    assert result.exit_code == 0
    assert "you can: rød" in result.output
    assert "no, not wrong" in result.output
    assert "over after 2 steps of train:0: score 1.0, solved, sum of rewards 0.9" in result.output


@pytest.mark.parametrize("typed", [":q\n", ""])
def test_a_person_can_leave(typed: str) -> None:
    result = run("play", TOY_ID, "--split", "test", "--seed", "3", typed=typed)
    assert result.exit_code == 0
    assert "left after 0 steps of test:" in result.output


@pytest.mark.parametrize("option", [("--task", "train:99"), ("--split", "dev")])
def test_an_unknown_task_is_the_persons_mistake(option: tuple[str, str]) -> None:
    result = run("play", TOY_ID, *option, typed="")
    assert result.exit_code == 2
    assert "molt-envs: " in result.stderr


def test_a_broken_plugin_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import gymnasium

    entry = EnvEntry("broken/Maze-v0", "no_such_package:Maze", "", "broken-envs")
    monkeypatch.setitem(registry._entries, entry.env_id, entry)
    monkeypatch.setitem(
        gymnasium.registry,
        entry.env_id,
        gymnasium.envs.registration.EnvSpec(entry.env_id, entry_point=entry.entry_point),
    )
    result = run("info", "broken/Maze-v0")
    assert result.exit_code == 2
    assert "broken-envs" in result.stderr
    assert "no_such_package" in result.stderr


def test_check_passes_on_the_toy() -> None:
    result = run("check", TOY_ID)
    assert result.exit_code == 0, result.output
    assert "FAIL" not in result.output


def test_terminal_codes_in_an_observation_are_shown_as_text() -> None:
    result = run("play", TOY_ID, "--task", "train:0", typed="\x1b[2Jx\n:q\n")
    assert "\x1b[2J" not in result.output.replace("\r", "")


def test_what_is_shown_is_written_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "shown.png"
    result = run("play", "GridNav-v0", "--image", str(file), typed="up\n:q\n")
    assert result.exit_code == 0, result.output
    assert result.output.count(f"image, 112 x 112 pixels: {file}") == 2
    assert np.asarray(Pictures.open(file)).shape == (112, 112, 3)


def test_without_a_name_the_file_is_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for _ in range(2):
        assert run("play", "VisualCount-v0", typed=":q\n").exit_code == 0
    assert len([*tmp_path.glob("molt-*/image.png")]) == 2


def test_a_file_that_cannot_be_written_is_the_persons_mistake(tmp_path: Path) -> None:
    result = run("play", "VisualCount-v0", "--image", str(tmp_path / "no" / "x.png"), typed=":q\n")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr and "--image" in result.stderr


def test_info_says_that_there_is_an_image() -> None:
    facts = json.loads(run("info", "VisualDiff-v0", "--json").output)
    assert facts["image_size"] == [112, 224]
    assert facts["observations"] == "text, and an image of 224 x 112 pixels"
    assert json.loads(run("info", TOY_ID, "--json").output)["observations"] == "text"
