"""What stops a run, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from molt_train.config import load_config
from molt_train.loop.failures import TooManyUnresolved
from molt_train.loop.run import train
from molt_train.model.load import WEBSHOP_BASE
from molt_train.monitor.progress import Silent

SMALL = ("rollout.num_tasks=1", "rollout.group_size=2", "eval.num_tasks=2", "train.num_steps=1")


def run(folder: Path, *overrides: str) -> None:
    train(
        load_config("webshop", [f"model.path={WEBSHOP_BASE}", f"run.dir={folder}", *SMALL, *overrides]),
        Silent(),
    )


def test_a_prompt_longer_than_the_context_stops_the_run_and_names_both(tmp_path: Path) -> None:
    limits = ("rollout.max_context_tokens=64", "rollout.max_turn_tokens=8")
    with pytest.raises(TooManyUnresolved, match=r"2 of 2 episodes [\s\S]*no room in a context of 64"):
        run(tmp_path / "run", *limits)
    assert (tmp_path / "run" / "report.html").exists()


def test_a_folder_in_use_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").write_text("{}\n")
    with pytest.raises(ValueError, match=r"already holds a run"):
        run(tmp_path / "run")
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == "{}\n"


def test_an_unknown_environment_is_an_error_with_the_key(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"env\.id = 'molt/WebShp-v0' .*Did you mean"):
        run(tmp_path / "run", "env.id=molt/WebShp-v0")


def test_an_environment_of_images_is_refused_rather_than_played_blind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'molt/VisualCount-v0' shows images"):
        run(tmp_path / "run", "env.id=molt/VisualCount-v0", "env.kwargs={}")


def test_an_unknown_split_says_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'nowhere'"):
        run(tmp_path / "run", "rollout.split=nowhere")


def test_too_many_evaluation_tasks_are_refused_with_the_number(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"test \(1000\)"):
        run(tmp_path / "run", "eval.num_tasks=5000")
