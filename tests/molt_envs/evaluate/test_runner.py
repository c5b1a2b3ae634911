"""Many episodes: resuming, time-outs, and what is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from molt_envs.errors import DataError
from molt_envs.evaluate.player import Job
from molt_envs.evaluate.policy import PolicySource
from molt_envs.evaluate.record import EpisodeRecord, RecordFile, read_records
from molt_envs.evaluate.runner import EPISODES, Settings, latest, open_folder, plan, run
from tests.molt_envs.evaluate.toys import TROUBLE_ID, Says, know_toys
from tests.molt_envs.toy import TOY_ID
from tests.molt_envs.workers import toys as workers_toys

SETTINGS = Settings("test", (TOY_ID,), "test", 3, 2, 0, 1.0, 16)


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    know_toys(monkeypatch)


def start(
    folder: Path,
    source: PolicySource,
    jobs: list[Job],
    settings: Settings = SETTINGS,
    timeout_s: float = 60.0,
) -> list[EpisodeRecord]:
    known = open_folder(folder, settings)
    played: list[EpisodeRecord] = []
    left = [job for job in jobs if job.episode_id not in known]
    run(left, source, settings, folder, 3, timeout_s, played.append)
    return played


def test_a_plan_has_every_sample_of_every_task_with_its_own_seed() -> None:
    jobs = plan(SETTINGS, {TOY_ID: 3})
    assert [(job.task_id, job.sample) for job in jobs] == [
        (f"test:{i}", s) for i in range(3) for s in range(2)
    ]
    assert len({job.seed for job in jobs}) == 6
    assert jobs == plan(SETTINGS, {TOY_ID: 3})
    assert len(plan(SETTINGS, {TOY_ID: 1})) == 2


def test_all_episodes_are_in_the_file(tmp_path: Path) -> None:
    jobs = plan(SETTINGS, {TOY_ID: 3})
    played = start(tmp_path, Says("rød"), jobs)
    assert {record.episode_id for record in played} == {job.episode_id for job in jobs}
    assert [record.episode_id for record in latest(tmp_path)] == [job.episode_id for job in jobs]


def test_a_second_start_plays_what_is_left(tmp_path: Path) -> None:
    jobs = plan(SETTINGS, {TOY_ID: 3})
    assert len(start(tmp_path, Says("rød"), jobs[:4])) == 4
    assert {record.episode_id for record in start(tmp_path, Says("rød"), jobs)} == {
        job.episode_id for job in jobs[4:]
    }


def test_half_a_line_is_played_again(tmp_path: Path) -> None:
    jobs = plan(SETTINGS, {TOY_ID: 3})
    start(tmp_path, Says("rød"), jobs[:2])
    file = tmp_path / EPISODES
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    assert len(start(tmp_path, Says("rød"), jobs[:2])) == 1
    assert len(latest(tmp_path)) == 2


def test_unresolved_episodes_are_tried_again_and_the_last_try_counts(tmp_path: Path) -> None:
    settings = dataclasses.replace(SETTINGS, env_ids=(TROUBLE_ID,))
    jobs = plan(settings, {TROUBLE_ID: 1})
    assert {record.outcome for record in start(tmp_path, Says("crash"), jobs, settings)} == {"unresolved"}
    start(tmp_path, Says("fine"), jobs, settings)
    assert [record.success for record in latest(tmp_path)] == [True, True]


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    open_folder(tmp_path, SETTINGS)
    with pytest.raises(ValueError, match=r"temperature was 1\.0, now 0\.5; .*--out"):
        open_folder(tmp_path, dataclasses.replace(SETTINGS, temperature=0.5))


def test_an_episode_that_hangs_is_unresolved_and_the_others_go_on(tmp_path: Path) -> None:
    settings = dataclasses.replace(SETTINGS, env_ids=(TROUBLE_ID,), num_samples=1)
    played = start(tmp_path, Says("hang"), plan(settings, {TROUBLE_ID: 3}), settings, timeout_s=0.3)
    assert [(record.outcome, record.reason) for record in played] == [
        ("unresolved", "InfrastructureError: it did not end within 0.3 s")
    ] * 3


@pytest.mark.parametrize(("said", "outcome"), [("crash", "unresolved"), ("go", "truncated")])
def test_environments_that_are_not_bounded_run_in_processes(tmp_path: Path, said: str, outcome: str) -> None:
    env_id = f"{workers_toys.__name__}:{workers_toys.ENV_ID}"
    settings = dataclasses.replace(SETTINGS, env_ids=(env_id,), split="train", num_samples=1)
    played = start(tmp_path, Says(said), plan(settings, {env_id: 2}), settings)
    assert [record.outcome for record in played] == [outcome] * 2
    assert all(("ended with status 3" in record.reason) == (said == "crash") for record in played)


def test_an_environment_that_cannot_be_made_is_unresolved(tmp_path: Path) -> None:
    settings = dataclasses.replace(SETTINGS, env_ids=("molt-tests/Nowhere-v0",), num_samples=1)
    played = start(tmp_path, Says("x"), plan(settings, {"molt-tests/Nowhere-v0": 1}), settings)
    assert [record.outcome for record in played] == ["unresolved"]


def test_records_come_back_exactly(tmp_path: Path) -> None:
    played = start(tmp_path, Says("\ud83d lone", "日本\n"), plan(SETTINGS, {TOY_ID: 2}))
    assert sorted(read_records(tmp_path / EPISODES), key=str) == sorted(played, key=str)


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with RecordFile(tmp_path / EPISODES), pytest.raises(ValueError, match="another process writes"):
        RecordFile(tmp_path / EPISODES)


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    (tmp_path / EPISODES).write_text('{"a": 1}\n', encoding="ascii")
    with pytest.raises(DataError, match="line 1"):
        list(read_records(tmp_path / EPISODES))
