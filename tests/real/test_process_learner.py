"""A learner of several processes in a whole run: any architecture, any number of processes, one that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from molt_envs import Episode
from molt_train.loop.collector import Collector
from molt_train.loop.run import train
from molt_train.model.load import load_model
from molt_train.monitor.progress import Silent
from molt_train.reaper import below
from sandboxes.attack import leftovers
from tests.molt_train.model.grids import ARCHITECTURES, make_models
from tests.real.runs import Trained, metrics, settings


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_models(tmp_path_factory.mktemp("models"), num_heads=4, vocab_size=2048)


def run(folder: Path, num_steps: int, *overrides: str) -> list[dict[str, Any]]:
    """The metrics of a small run."""
    exact = ("train.autocast=none", "rollout.autocast=none", f"rollout.reward={__name__}:low_ids")
    train(settings(folder, num_steps, *exact, *overrides), Silent())
    return metrics(folder)


def low_ids(episode: Episode) -> float:
    """A reward that an untrained model earns a part of."""
    ids = np.concatenate([segment.token_ids[segment.action_mask] for segment in episode.segments])
    return float((ids < ids.mean()).mean())


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(load_model(str(folder / "model"))[0].state_dict())


@pytest.mark.real
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_trains_on_two_processes_by_one_recipe(
    architecture: str, models: Path, tmp_path: Path
) -> None:
    ep_size = 1 if architecture == "qwen3" else 2
    grid = ("parallel.fsdp_size=2", f"parallel.ep_size={ep_size}")
    (row,) = run(tmp_path / "run", 1, f"model.path={models / architecture}", *grid)
    assert row["num_trained_tokens"] > 0 and row["logprob_gap_max"] < 1e-4
    before = dict(load_model(str(models / architecture))[0].state_dict())
    after = weights(tmp_path / "run")
    assert before.keys() == after.keys()
    changed = [name for name in before if not torch.equal(before[name], after[name])]
    assert len(changed) > len(before) // 2


@pytest.mark.real
def test_a_run_goes_on_with_another_number_of_processes(models: Path, tmp_path: Path) -> None:
    # With Adam's usual ε an entry whose gradient is rounding noise moves as far as any other.
    smooth = (f"model.path={models / 'qwen3_moe'}", "optimizer.eps=0.1", "optimizer.lr=0.003")
    undisturbed = run(tmp_path / "alone", 3, *smooth)
    folder = tmp_path / "run"
    changing = ("parallel.fsdp_size=4", "parallel.fsdp_size=2", "parallel.fsdp_size=1")
    for step, size in enumerate(changing, 1):
        ends = ("run.checkpoint_every=1", "run.resume=true", "parallel.ep_size=1")
        rows = run(folder, step, *smooth, size, *ends)
    for row, expected in zip(rows, undisturbed, strict=True):
        assert row == pytest.approx(expected, rel=1e-2, abs=1e-5)
    final, expected_final = weights(folder), weights(tmp_path / "alone")
    for name, tensor in expected_final.items():
        assert float((final[name] - tensor).norm() / tensor.norm()) < 1e-5


@pytest.mark.real
def test_a_run_goes_on_by_itself_after_one_of_its_processes_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = "parallel.fsdp_size=2"
    undisturbed = run(tmp_path / "undisturbed", 3, grid)
    killed: list[int] = []

    def kill_a_rank(step: int) -> None:
        if step == 2 and not killed:
            killed.append(ranks_of(os.getpid())[-1])
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(Collector, "take", Trained(kill_a_rank).spy)
    rows = run(tmp_path / "run", 3, grid, "run.checkpoint_every=1")
    assert len(killed) == 1 and rows == undisturbed
    assert ranks_of(os.getpid()) == []


DRIVER = """
import sys
from pathlib import Path
from molt_train.loop.run import train
from molt_train.monitor.progress import Silent
from tests.real.runs import settings

if __name__ == "__main__":
    train(settings(Path(sys.argv[1]), 100, "parallel.fsdp_size=2"), Silent())
"""


@pytest.mark.real
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_no_process_of_the_learner_survives_its_driver(sent: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    driver = subprocess.Popen([sys.executable, str(script), str(tmp_path / "run")], env=environment)
    end = time.monotonic() + 100
    while not (tmp_path / "run" / "metrics.jsonl").exists():
        assert time.monotonic() < end and driver.poll() is None
        time.sleep(0.2)
    started = leftovers.descendants(driver.pid)
    assert len(ranks_of(driver.pid)) == 2
    driver.send_signal(sent)
    driver.wait(60)
    assert leftovers.settle(lambda: leftovers.still_alive(started), 20) == []


def ranks_of(driver: int) -> list[int]:
    """Pids of the learner's processes: children of the server that forks them."""
    found = below({driver: Path(f"/proc/{driver}/stat").read_text().rpartition(")")[2].split()[19]})
    texts = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in found}
    servers = {pid for pid, text in texts.items() if b"multiprocessing.forkserver" in text}
    parents = {
        pid: int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in servers
    }
    return sorted(pid for pid, parent in parents.items() if parent in servers)
