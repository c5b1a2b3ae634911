"""`molt-envs check`: a table or JSON, and an exit status that a build can act on."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from molt_envs import EnvEntry, registry
from molt_envs.checks import Finding, Findings
from molt_envs.checks.command import as_json, exit_status
from molt_envs.checks.environment import CHECKS
from molt_envs.cli import app
from tests.molt_envs.toy import TOY_ID, register_toy

PLANTED_ID = "molt-tests/Planted-v0"


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy and an environment with a planted answer, the only ids that the hub knows in a test."""
    import gymnasium

    register_toy()
    if PLANTED_ID not in gymnasium.registry:
        gymnasium.register(PLANTED_ID, entry_point="tests.molt_envs.checks.broken.envs:Planted")
    ids = {TOY_ID: "tests.molt_envs.toy:ToyEnv", PLANTED_ID: "tests.molt_envs.checks.broken.envs:Planted"}
    entries = {env_id: EnvEntry(env_id, entry_point, "", "tests") for env_id, entry_point in ids.items()}
    monkeypatch.setattr(registry, "_entries", entries)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["check", *arguments])


def test_a_sound_environment_gives_a_table_and_status_0() -> None:
    result = run(TOY_ID)
    assert result.exit_code == 0, result.output
    assert "1 of 1 environments pass" in result.output
    assert "not shown" in result.output


def test_a_planted_answer_gives_status_1_and_says_what_to_mend() -> None:
    result = run(PLANTED_ID)
    assert result.exit_code == 1
    assert "FAIL" in result.output
    assert "to mend: leave it out" in " ".join(result.output.split())


def test_all_checks_every_id_and_prints_nothing_but_json() -> None:
    result = run("--all", "--json")
    assert result.exit_code == 1
    rows = {row["id"]: row for row in json.loads(result.stdout)}
    assert {env_id: row["ok"] for env_id, row in rows.items()} == {PLANTED_ID: False, TOY_ID: True}
    assert [check["name"] for check in rows[TOY_ID]["checks"]] == [check.name for check in CHECKS]
    failed = [check for check in rows[PLANTED_ID]["checks"] if not check["ok"]]
    assert [check["name"] for check in failed] == ["info does not give away what the oracle will do"]
    assert "info['debug']['x'][…]" in failed[0]["message"]


@pytest.mark.parametrize("arguments", [(), (TOY_ID, "--all")])
def test_ids_or_all_but_not_both(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "or --all" in result.stderr


def test_one_failure_among_many_makes_the_status_1() -> None:
    good, bad = (
        Findings([Finding("a", True, "")]),
        Findings([Finding("a", True, ""), Finding("b", False, "")]),
    )
    assert exit_status({"x": good, "y": good}) == 0
    assert exit_status({"x": good, "y": bad}) == 1


def test_odd_characters_in_a_message_survive_as_json() -> None:
    found = {"x": Findings([Finding("a", False, "\ud800 \x1b[2J")])}
    assert json.loads(as_json(found))[0]["checks"][0]["message"] == "\ud800 \x1b[2J"
