"""Environments in worker processes: the same episodes, and faults that stay where they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import pytest

from molt_envs import EpisodeDone, InfrastructureError, PolicyError, TaskError
from molt_envs.workers import WorkerPool
from tests.molt_envs.workers import toys

FULL_ID = f"{toys.__name__}:{toys.ENV_ID}"


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(FULL_ID, {}, toys.CARD, num_workers=1, envs_per_worker=2, timeout_s=10.0) as made:
        yield made


def test_the_episode_in_a_worker_is_that_of_this_process(pool: WorkerPool) -> None:
    local, remote = toys.Misbehaving(), pool.make_env()
    for options in (None, {"task_id": "train:7"}):
        here, there = local.reset(seed=3, options=options), remote.reset(seed=3, options=options)
        assert there[1].pop("pid") != here[1].pop("pid")
        assert here == there
        assert local.step("\ud800 \0") == remote.step("\ud800 \0")


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        ("fault", InfrastructureError, "KeyError: 'lost'"),
        ("blame", PolicyError, "your doing"),
        ("odd", InfrastructureError, "a object cannot leave the process"),
    ],
)
def test_an_error_keeps_its_kind_and_the_worker_lives(
    pool: WorkerPool, action: str, error: type[Exception], message: str
) -> None:
    env = pool.make_env()
    _, first = env.reset(seed=0)
    with pytest.raises(error, match=message):
        env.step(action)
    assert env.reset(seed=0)[1] == first


def test_a_bad_task_and_a_step_after_the_end_are_the_usual_errors(pool: WorkerPool) -> None:
    env = pool.make_env()
    with pytest.raises(TaskError, match="unknown split 'x'"):
        env.reset(options={"split": "x"})
    with pytest.raises(EpisodeDone):
        env.step("go")


def test_a_crash_ends_the_episodes_of_its_worker_and_the_next_ones_run(pool: WorkerPool) -> None:
    one, two = pool.make_env(), pool.make_env()
    _, first = one.reset(seed=0)
    two.reset(seed=1)
    with pytest.raises(InfrastructureError, match=r"step: worker .* ended with status 3"):
        one.step("crash")
    with pytest.raises(InfrastructureError, match="step: worker"):
        two.step("go")
    _, again = one.reset(seed=0)
    _, beside = two.reset(seed=1)
    assert again["pid"] == beside["pid"] != first["pid"]
    assert two.step("go")[0] == "did go"
    assert pool.num_replaced == 1


def test_a_hang_is_killed_at_its_time_out() -> None:
    with WorkerPool(FULL_ID, {}, toys.CARD, timeout_s=1.0) as pool:
        env = pool.make_env()
        env.reset(seed=0)
        (pid,) = pool.pids()
        with pytest.raises(InfrastructureError, match=r"step did not return within 1\.0 s"):
            env.step("hang")
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert env.reset(seed=0)[0].startswith("train:")


def test_a_worker_that_leaks_is_replaced_and_its_running_episodes_finish() -> None:
    with WorkerPool(FULL_ID, {}, toys.CARD, 1, 2, memory_bytes=250 * 2**20) as pool:
        leaking, other = pool.make_env(), pool.make_env()
        leaking.reset(seed=0)
        (old,) = pool.pids()
        leaking.step("leak")
        other.reset(seed=0)  # sees the memory; its own episode goes on
        leaking.reset(seed=0)
        assert other.step("go")[0] == "did go"
        (new,) = pool.pids()
        assert new != old
        assert other.reset(seed=0)[1]["pid"] == new
        with pytest.raises(ProcessLookupError):
            os.kill(old, 0)


def test_no_secret_reaches_an_environment(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("HF_TOKEN", "hf-1")
    monkeypatch.setenv("PLAIN", "1")
    env = pool.make_env()
    env.reset(seed=0)
    seen = env.step("secrets")[0].split()
    assert "PLAIN" in seen and not {"OPENAI_API_KEY", "HF_TOKEN"} & set(seen)


def test_environments_of_one_worker_run_side_by_side(pool: WorkerPool) -> None:
    envs = [pool.make_env(), pool.make_env()]
    with ThreadPoolExecutor(2) as executor:
        first = [task.result()[0] for task in [executor.submit(env.reset, seed=5) for env in envs]]
    assert first[0] == first[1]
    with pytest.raises(ValueError, match="all 2 environments"):
        pool.make_env()


DRIVER = f"""
import os, sys, time
from molt_envs.workers import WorkerPool
from {toys.__name__} import CARD
pool = WorkerPool({FULL_ID!r}, {{}}, CARD)
env = pool.make_env()
env.reset(seed=0)
print(pool.pids()[0], flush=True)
env.step("hang")
"""


def test_nothing_is_left_when_the_owner_is_killed() -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    pid = int(driver.stdout.readline())
    driver.send_signal(signal.SIGKILL)
    driver.wait(10)
    driver.stdout.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail(f"worker {pid} outlived its owner")


def test_the_pool_closes_twice_and_its_environments_say_so(pool: WorkerPool) -> None:
    env = pool.make_env()
    env.reset(seed=0)
    pool.close()
    pool.close()
    with pytest.raises((EpisodeDone, InfrastructureError)):
        env.reset(seed=0)
    env.close()


def test_a_worker_cannot_make_an_unknown_environment() -> None:
    with (
        WorkerPool("molt/Nothing-v9", {}, toys.CARD) as pool,
        pytest.raises(InfrastructureError, match="Nothing"),
    ):
        pool.make_env().reset(seed=0)
    assert gymnasium.registry


def test_the_environments_own_policies_play_in_the_worker() -> None:
    card = gymnasium.make("molt/WebShop-v0").unwrapped.card  # type: ignore[attr-defined]
    with WorkerPool("molt/WebShop-v0", {}, card, timeout_s=60.0) as pool:
        env = pool.make_env()
        for name, solved in (("oracle", True), ("nothing", False)):
            observation, info = env.reset(seed=4)
            oracle = env.oracle()
            assert oracle is not None
            policy = {"oracle": oracle, **env.baselines()}[name]
            over = False
            while not over:
                observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
                over = terminated or truncated
            assert info["success"] is solved
