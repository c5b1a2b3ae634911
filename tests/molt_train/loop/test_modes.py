"""The loop in its three modes, on a small model and an environment whose episodes differ in length."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from molt_envs import Episode, episode_from_msgpack
from molt_train.config import Config, load_config
from molt_train.loop.collector import Stalled
from molt_train.loop.failures import TooManyUnresolved
from molt_train.loop.run import train
from molt_train.model.checkpoint import load_checkpoint
from molt_train.model.load import WEBSHOP_BASE
from molt_train.monitor.progress import Silent

NUM_TASKS, GROUP_SIZE, NUM_STEPS = 2, 2, 5
MODES = {
    "sync": ["rollout.mode=sync"],
    "one_step_off": ["rollout.mode=one_step_off"],
    "fully_async": ["rollout.mode=fully_async", "rollout.max_staleness=2"],
    "never_stale": ["rollout.mode=fully_async", "rollout.max_staleness=0"],
}
BOUNDS = {"sync": 0, "one_step_off": 1, "fully_async": 2, "never_stale": 0}


def config_of(folder: Path, *overrides: str) -> Config:
    settings = [
        f"model.path={WEBSHOP_BASE}", f"run.dir={folder}", f"rollout.num_tasks={NUM_TASKS}",
        f"rollout.group_size={GROUP_SIZE}", "rollout.num_slots=4", "rollout.max_turn_tokens=16",
        "rollout.max_context_tokens=640", "eval.num_tasks=1", "eval.num_slots=1",
        f"train.num_steps={NUM_STEPS}", "run.num_samples=0",
    ]  # fmt: skip
    return load_config("webshop", [*settings, *overrides])


def run(folder: Path, *overrides: str) -> Path:
    train(config_of(folder, *overrides), Silent())
    return folder


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_trains_on_every_task_once_and_keeps_its_bound(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = record_trained(monkeypatch)
    rows = metrics(run(tmp_path / "run", *MODES[mode]))
    assert [row["num_episodes"] for row in rows] == [NUM_TASKS * GROUP_SIZE] * NUM_STEPS
    assert max(row["staleness_max"] for row in rows) == BOUNDS[mode]
    assert len({episode.episode_id for episode in trained}) == NUM_STEPS * NUM_TASKS * GROUP_SIZE
    tasks = Counter(episode.task_id for episode in trained)
    assert len(tasks) == NUM_STEPS * NUM_TASKS and set(tasks.values()) == {GROUP_SIZE}


def record_trained(monkeypatch: pytest.MonkeyPatch) -> list[Episode]:
    """The episodes that reach the learner, in order."""
    from molt_train.learner import Learner

    seen: list[Episode] = []
    train_step = Learner.train_step

    def spy(self: Learner, graded: Any) -> dict[str, float]:
        seen.extend(item.episode for item in graded)
        return train_step(self, graded)

    monkeypatch.setattr(Learner, "train_step", spy)
    return seen


def test_an_async_run_that_is_interrupted_trains_on_every_task_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint holds the groups under way: what had ended is kept, the rest is played again.

    NeMo-RL PR3599: a resumed run skipped the prompts that had been under way. verl PR7846: it raced a new
    wave.
    """
    trained = record_trained(monkeypatch)
    settings = [*MODES["fully_async"], "run.checkpoint_every=1"]

    class Killed(BaseException):
        pass

    def kill(step: int) -> None:
        if step == 3:
            raise Killed

    from molt_train.loop.folder import RunFolder

    record = RunFolder.record
    with monkeypatch.context() as patch:
        patch.setattr(
            RunFolder,
            "record",
            lambda self, step, *rest: (kill(step), record(self, step, *rest)),
        )
        with pytest.raises(Killed):
            run(tmp_path / "run", *settings)
    del trained[2 * NUM_TASKS * GROUP_SIZE :]  # the third step was not kept
    state = load_checkpoint(tmp_path / "run" / "checkpoints" / "step-00000002").state["collector"]
    assert state["groups"]
    kept = [
        episode_from_msgpack(np.asarray(data).tobytes())
        for group in state["groups"]
        for _, _, data in group["graded"]
    ]
    run(tmp_path / "run", *settings, "run.resume=true")
    assert (
        len({episode.episode_id for episode in trained}) == len(trained) == NUM_STEPS * NUM_TASKS * GROUP_SIZE
    )
    later = {episode.episode_id: episode for episode in trained[2 * NUM_TASKS * GROUP_SIZE :]}
    for episode in kept:
        assert (
            later[episode.episode_id].segments[0].token_ids.tolist() == episode.segments[0].token_ids.tolist()
        )
    assert [row["step"] for row in metrics(tmp_path / "run")] == list(range(1, NUM_STEPS + 1))


def slow_reward(episode: Episode) -> float:
    """A grader that hangs on some episodes."""
    if episode.episode_id.endswith("/1"):
        time.sleep(1.5)
    return 1.0


def test_a_grader_that_hangs_costs_its_episode_alone(tmp_path: Path) -> None:
    """verl PR6673, PR5635: one slow grader froze the loop, or its alarm off the main thread gave 0."""
    rows = metrics(
        run(
            tmp_path / "run",
            "train.num_steps=1",
            "rollout.reward=tests.molt_train.loop.test_modes:slow_reward",
            "rollout.reward_timeout_s=0.3",
        )
    )
    assert rows[0]["num_unresolved"] == NUM_TASKS and rows[0]["num_excluded"] == NUM_TASKS


def test_too_many_unresolved_stop_the_run_with_a_table(tmp_path: Path) -> None:
    with pytest.raises(TooManyUnresolved, match=r"molt/WebShop-v0: .*2 unresolved[\s\S]*no reward within"):
        run(
            tmp_path / "run", "rollout.reward=tests.molt_train.loop.test_modes:slow_reward",
            "rollout.reward_timeout_s=0.3", "rollout.max_unresolved_share=0.4",
        )  # fmt: skip


def test_a_run_in_which_nothing_ends_says_what_it_waits_for(tmp_path: Path) -> None:
    with pytest.raises(Stalled, match=r"no episode ended for 0.001 s; 2 groups are under way: train:\d+"):
        run(tmp_path / "run", "rollout.stall_timeout_s=0.001")


def test_what_is_trained_on_is_what_was_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tinker-cookbook PR822: slow episodes were dropped as stale, so long ones were seldom learned from."""
    from molt_train.rollout.runner import RolloutRunner

    sampled: list[Episode] = []
    play = RolloutRunner._play

    async def spy(self: RolloutRunner, env: Any, job: Any) -> Episode:
        episode = await play(self, env, job)
        if not episode.episode_id.startswith("eval"):
            sampled.append(episode)
        return episode

    monkeypatch.setattr(RolloutRunner, "_play", spy)
    trained = record_trained(monkeypatch)
    run(tmp_path / "run", *MODES["fully_async"])

    def lengths(episodes: list[Episode]) -> Counter[int]:
        return Counter(episode.num_action_tokens for episode in episodes)

    assert len(sampled) == NUM_STEPS * NUM_TASKS * GROUP_SIZE
    assert lengths(sampled) == lengths(trained)


@pytest.mark.parametrize("where", ["rollout", "update", "evaluation"])
def test_an_interrupt_ends_the_run_from_any_state(where: str, tmp_path: Path) -> None:
    """prime-rl#2912: with the trainer done and the generator paused, the end never came."""

    class Interrupting(Silent):
        def phase(self, what: str, total: int = 0) -> None:
            if what == where and (tmp_path / "run" / "evals.jsonl").exists() == (where != "evaluation"):
                os.kill(os.getpid(), signal.SIGINT)

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        train(config_of(tmp_path / "run", *MODES["fully_async"]), Interrupting())
    assert time.monotonic() - started < 30


def test_an_error_beside_the_loop_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SkyRL PR1691: an exception in a background task was swallowed, and the run idled for ever."""
    from molt_train.loop import collector

    def lose(*_: Any) -> None:
        raise ZeroDivisionError("lost in the background")

    monkeypatch.setattr(collector, "penalise_length", lose)
    with pytest.raises(ZeroDivisionError, match="lost in the background"):
        run(tmp_path / "run", *MODES["fully_async"])
