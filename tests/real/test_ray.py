"""A run on a Ray cluster of this machine: the local tokens, and actors that are killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'molt-rl[ray]'")

from molt_train.cluster.run import cluster_parts  # noqa: E402
from molt_train.loop.collector import Collector  # noqa: E402
from molt_train.loop.run import train  # noqa: E402
from molt_train.monitor.progress import Silent  # noqa: E402
from sandboxes.attack import leftovers  # noqa: E402
from tests.real.runs import Trained, metrics, settings  # noqa: E402

pytestmark = pytest.mark.real
NUM_STEPS = 4


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """One cluster for the module, with a resource for each role."""
    from ray.cluster_utils import Cluster

    roles = {f"molt_{role}": 1.0 for role in ("engine", "env", "learner")}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 4, "object_store_memory": 200 << 20, "resources": roles, "include_dashboard": False,
        },
    )  # fmt: skip
    yield cluster.address
    cluster.shutdown()


def on_cluster(address: str, *more: str) -> list[str]:
    return [
        "cluster.enabled=true", f"cluster.address={address}", "cluster.roles=true", "cluster.num_env_hosts=2",
        *more,
    ]  # fmt: skip


VLLM_ONE_BY_ONE = [
    "rollout.engine=vllm", "rollout.num_slots=1", "eval.num_slots=1", "rollout.num_tasks=1",
    "eval.num_tasks=1", ]  # fmt: skip


TWO_PROCESSES = ["parallel.fsdp_size=2"]


@pytest.mark.parametrize(
    "more", [[], VLLM_ONE_BY_ONE, TWO_PROCESSES], ids=["in-process", "vllm", "two-processes"]
)
def test_the_same_seed_gives_the_local_runs_numbers(more: list[str], address: str, tmp_path: Path) -> None:
    if more == VLLM_ONE_BY_ONE:
        pytest.importorskip("vllm", reason="vLLM is not installed: make install-vllm")
    train(settings(tmp_path / "local", NUM_STEPS, *more), Silent())
    cluster = (
        [*on_cluster(address), "cluster.num_env_hosts=1"] if more == VLLM_ONE_BY_ONE else on_cluster(address)
    )
    train(settings(tmp_path / "ray", NUM_STEPS, *more, *cluster), Silent(), cluster_parts)
    assert metrics(tmp_path / "ray") == metrics(tmp_path / "local")


def kill_actors(address: str, name: str) -> int:
    """Kill -9 the processes of all actors of a class; gives how many."""
    pids = [pid for pid, title in processes() if title.startswith(f"ray::{name}")]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return len(pids)


def processes() -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            title = Path(f"/proc/{entry}/cmdline").read_bytes().partition(b"\0")[0].decode(errors="replace")
        except OSError:
            continue
        found.append((int(entry), title))
    return found


@pytest.mark.parametrize("mode", ["sync", "fully_async"])
def test_killed_engines_and_hosts_cost_no_task(
    mode: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []

    def kill(step: int) -> None:
        name = {1: "EngineActor", 2: "EnvHostActor"}.get(step)
        if name:
            # In the middle of the rollout that follows.
            threading.Timer(0.3, lambda: killed.append(kill_actors(address, name))).start()

    trained = Trained(kill)
    monkeypatch.setattr(Collector, "take", trained.spy)
    config = settings(
        tmp_path / "run", NUM_STEPS, *on_cluster(address, "cluster.num_engines=2"), f"rollout.mode={mode}"
    )
    train(config, Silent(), cluster_parts)
    assert killed == [2, 2]
    assert len(trained.task_ids) == len(set(trained.task_ids)) == NUM_STEPS * 4
    assert "unresolved" not in trained.outcomes
    assert len(metrics(tmp_path / "run")) == NUM_STEPS


DRIVER = """
import sys
from pathlib import Path
from molt_train.cluster.run import cluster_parts
from molt_train.loop.run import train
from molt_train.monitor.progress import Silent
from tests.real.runs import settings

if __name__ == "__main__":
    train(settings(Path(sys.argv[1]), 100, "cluster.enabled=true"), Silent(), cluster_parts)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_nothing_survives_a_driver_that_started_ray(sent: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    driver = subprocess.Popen([sys.executable, str(script), str(tmp_path / "run")], env=environment)
    end = time.monotonic() + 120
    while not (tmp_path / "run" / "metrics.jsonl").exists():
        assert time.monotonic() < end and driver.poll() is None
        time.sleep(0.2)
    below = leftovers.descendants(driver.pid)
    assert len(below) > 5
    driver.send_signal(sent)
    driver.wait(60)
    assert leftovers.settle(lambda: leftovers.still_alive(below), 30) == []
