"""The commands that evaluate, replay, list and search."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from molt_envs.cli import app
from tests.molt_envs.evaluate.toys import TROUBLE_ID, know_toys
from tests.molt_envs.toy import TOY_ID

WINNER = "python:tests.molt_envs.evaluate.toys:winner"


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    know_toys(monkeypatch)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def evaluate(out: Path, *more: str, env_id: str = TOY_ID, policy: str = WINNER) -> Result:
    return run("eval", env_id, "--policy", policy, "--split", "train", "--out", str(out), *more)


def test_an_evaluation_leaves_its_results(tmp_path: Path) -> None:
    result = evaluate(tmp_path, "--samples", "2", "--episodes", "3")
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    (environment,) = summary["environments"]
    assert environment["passes"]["2"]["value"] == 1.0
    assert summary["settings"]["num_samples"] == 2
    assert len((tmp_path / "episodes.jsonl").read_text(encoding="ascii").splitlines()) == 6
    assert (tmp_path / "report.html").is_file()
    assert "pass@2" in result.output


def test_a_second_start_plays_nothing_again(tmp_path: Path) -> None:
    evaluate(tmp_path)
    before = (tmp_path / "episodes.jsonl").read_bytes()
    assert "6 of 6 episodes are there" in evaluate(tmp_path).output
    assert (tmp_path / "episodes.jsonl").read_bytes() == before


def test_other_settings_in_the_same_folder_are_refused(tmp_path: Path) -> None:
    evaluate(tmp_path)
    result = evaluate(tmp_path, "--seed", "4")
    assert result.exit_code == 2
    assert "seed was 0, now 4" in result.stderr


@pytest.mark.parametrize(
    ("env_id", "more", "message"),
    [
        (TOY_ID, ("--policy", "clever"), "unknown policy 'clever'"),
        ("molt/WebShp-v0", (), "did you mean molt/WebShop-v0"),
        (TOY_ID, ("--split", "dev"), "has no split 'dev'; it has train, test"),
    ],
)
def test_a_mistake_is_answered_and_leaves_no_folder(
    tmp_path: Path, env_id: str, more: tuple[str, ...], message: str
) -> None:
    result = evaluate(tmp_path / "out", *more, env_id=env_id)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_answered_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        result = evaluate(out)
        assert result.exit_code == 2
        assert result.stderr.startswith("molt-envs: ")
        assert str(out) in result.stderr


def test_nothing_resolved_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    result = evaluate(tmp_path, policy="oracle")
    assert result.exit_code == 1
    assert "this environment has no oracle" in result.output


def test_a_table_of_the_episodes_is_written(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert evaluate(tmp_path, "--parquet").exit_code == 0
    rows = parquet.read_table(tmp_path / "episodes.parquet").to_pylist()
    assert [row["task_id"] for row in rows] == [f"train:{index}" for index in range(6)]
    assert rows[0]["turns"][0]["observation"] == "yes"


def test_a_replay_comes_out_the_same_and_a_changed_record_does_not(tmp_path: Path) -> None:
    evaluate(tmp_path)
    result = run("replay", str(tmp_path))
    assert (result.exit_code, result.output.strip()) == (
        0,
        "6 the same, 0 different, 0 unresolved and left out",
    )
    file = tmp_path / "episodes.jsonl"
    file.write_text(file.read_text(encoding="ascii").replace('"yes"', '"no"', 1), encoding="ascii")
    result = run("replay", str(file))
    assert result.exit_code == 1
    assert "recorded 'no', now 'yes'" in result.output
    assert "5 the same, 1 different" in result.output


def test_one_episode_is_replayed(tmp_path: Path) -> None:
    evaluate(tmp_path)
    assert "1 the same" in run("replay", str(tmp_path), "--episode", f"{TOY_ID}#train:2#0").output
    assert run("replay", str(tmp_path), "--episode", "none").exit_code == 2
    missing = run("replay", str(tmp_path / "nowhere"))
    assert missing.exit_code == 2 and "nowhere is no file; name the folder" in missing.stderr


def test_an_interrupted_evaluation_keeps_what_it_has_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "molt_envs.cli", "eval", "molt/WebShop-v0", "--policy", "random"]
    command += ["--episodes", "500", "--samples", "20", "--concurrency", "1", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    file, deadline = tmp_path / "episodes.jsonl", time.monotonic() + 60
    while not (file.exists() and file.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in told and "Traceback" not in told
    assert file.read_text(encoding="ascii").endswith("\n")


def test_what_holds_no_records_is_refused_by_name(tmp_path: Path) -> None:
    for content in (b"\xff\n", b"{}\n", b"[]\n"):
        (tmp_path / "other").write_bytes(content)
        result = run("replay", str(tmp_path / "other"))
        assert result.exit_code == 2
        assert str(tmp_path / "other") in result.stderr


def test_the_list_has_splits_licence_and_rewards() -> None:
    rows = {row["env_id"]: row for row in json.loads(run("list", "--json").output)}
    assert rows[TOY_ID]["splits"] == {"train": 6, "test": 3}
    assert (rows[TOY_ID]["licence"], rows[TOY_ID]["reward_range"]) == ("Apache-2.0", [-0.1, 1.0])
    assert rows[TOY_ID]["latency"] is None
    assert "train 6, test 3 · rewards -0.1 to 1, at most 4 turns" in run("list").output


def test_latency_is_measured_on_demand() -> None:
    latency = json.loads(run("info", TOY_ID, "--json", "--measure").output)["latency"]
    assert latency["num_steps"] > 0
    assert 0 < latency["step_ms"] < 1000


def test_a_search_needs_every_word_and_ids_come_first() -> None:
    found = [row["env_id"] for row in json.loads(run("search", "toy", "--json").output)]
    assert found == [TOY_ID, TROUBLE_ID]
    assert [row["env_id"] for row in json.loads(run("search", "toy", "trouble", "--json").output)] == [
        TROUBLE_ID
    ]


def test_a_search_in_vain_suggests_something_near() -> None:
    result = run("search", "webshp")
    assert result.exit_code == 1
    assert "did you mean molt/WebShop-v0" in result.stderr
