"""The fuzzer: what it writes, what it reports, and that a second run goes on where the first stopped."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from benchmarks import fuzz
from benchmarks.report import RESULTS_ENV
from tests.molt_envs.toy import register_toy


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for results."""
    monkeypatch.setenv(RESULTS_ENV, str(tmp_path))
    return tmp_path


def run(env_id: str, num_actions: int) -> fuzz.Progress:
    progress = fuzz.Progress()
    fuzz.Fuzzer(env_id, progress).run(time.monotonic() + 60, num_actions)
    return progress


def test_actions_depend_on_the_seed_alone_and_are_many() -> None:
    first, second = (fuzz.Mutator(random.Random(1), "go to room 1") for _ in range(2))
    actions = [first.action("take key", ("look", "open door")) for _ in range(2000)]
    assert actions == [second.action("take key", ("look", "open door")) for _ in range(2000)]
    assert len({*actions}) > 600
    assert 0.2 < actions.count("take key") / len(actions) < 0.5
    assert max(map(len, actions)) == fuzz.NUM_LONG_CHARS


def test_a_sound_environment_takes_exactly_the_actions_asked_for() -> None:
    progress = run(register_toy(), 500)
    assert progress.num_actions == 500
    assert progress.failures == []


def test_what_is_raised_is_kept_with_its_seed() -> None:
    import gymnasium

    env_id = "molt-tests/Fragile-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point="tests.molt_envs.checks.broken.envs:Fragile")
    progress = run(env_id, 3000)
    assert 0 < len(progress.failures) <= fuzz.NUM_KEPT_FAILURES
    assert progress.failures[0].startswith("seed ")
    assert "UnicodeEncodeError" in progress.failures[0]


def test_a_second_run_goes_on_where_the_first_stopped(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOLT_FUZZ_ACTIONS", "600")
    monkeypatch.setenv("MOLT_FUZZ_S", "0")
    fuzz.main()
    assert json.loads((results / "fuzz.actions.json").read_text())["ok"] is False
    monkeypatch.setenv("MOLT_FUZZ_S", "60")
    fuzz.main()
    assert json.loads((results / "fuzz.actions.json").read_text())["measured"] == 600
    before = (results / "fuzz-state.json").read_text()
    fuzz.main()
    assert (results / "fuzz-state.json").read_text() == before
