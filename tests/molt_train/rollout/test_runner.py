"""Many episodes at once: order, bounds, threads, and slots that come back on every path."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from molt_envs import Episode, TokenEnv, Turn, episode_to_json
from molt_envs.workers import WorkerPool
from molt_train.rollout.engine import Generation, Sampling
from molt_train.rollout.runner import RolloutRunner
from molt_train.rollout.scripted_engine import ScriptedEngine
from molt_train.weight_sync import PublishedWeights
from tests.molt_envs.workers import toys
from tests.molt_train.rollout.probe_env import (
    BAD_RESET,
    CARD,
    END,
    HANG_S,
    RENDERER,
    SAMPLING,
    ProbeEnv,
    Probes,
    play,
    request,
    scripted,
)

WORDS: dict[int, list[str]] = {
    0: ["a", "b", "c"],
    1: ["win"],
    2: ["crash"],
    BAD_RESET: ["win"],
    4: ["blame"],
    5: ["wait", "win"],
    6: ["nan"],
    7: ["win"],
}
WORKER_ENV = f"{toys.__name__}:{toys.ENV_ID}"
OUTCOMES = [
    "truncated",
    "terminated",
    "unresolved",
    "unresolved",
    "failed",
    "terminated",
    "unresolved",
    "terminated",
]


@pytest.mark.parametrize("num_slots", [1, 2, 5, 20])
def test_episodes_come_back_in_the_order_asked_for(num_slots: int) -> None:
    ended: list[Episode] = []
    episodes = play(WORDS, num_slots=num_slots, on_episode=ended.append)
    assert [episode.outcome for episode in episodes] == OUTCOMES
    assert [episode.episode_id for episode in episodes] == [f"e{order}" for order in range(8)]
    assert [episode.task_id for episode in episodes] == [f"train:{index}" for index in WORDS]
    assert {e.episode_id for e in ended} == {e.episode_id for e in episodes} and len(ended) == 8


def test_the_number_of_slots_changes_no_token() -> None:
    one, many = (play(WORDS, num_slots=count) for count in (1, 8))
    for left, right in zip(one, many, strict=True):
        for a, b in zip(left.segments, right.segments, strict=True):
            assert a.token_ids.tolist() == b.token_ids.tolist()


def test_no_session_stays_open_and_the_runner_can_go_on() -> None:
    engine, probes = scripted(WORDS), Probes()
    with RolloutRunner(engine, probes, 3) as runner:
        requests = [request(index, order) for order, index in enumerate(WORDS)]
        for _ in range(3):
            episodes = asyncio.run(runner.run(requests, SAMPLING))
            assert [episode.outcome for episode in episodes] == OUTCOMES
            assert engine.num_sessions == 0
    assert len(probes.built) == 3


def test_environments_live_in_one_thread_that_is_not_the_loops() -> None:
    probes = Probes()
    play(WORDS, num_slots=3, probes=probes)
    threads = set.union(*(env.threads for env in probes.built))
    assert len(threads) == 1 and threading.get_ident() not in threads
    assert [env.num_closed for env in probes.built] == [1, 1, 1]


def test_no_more_environments_than_requests() -> None:
    probes = Probes()
    play({1: ["win"]}, num_slots=9, probes=probes)
    assert len(probes.built) == 1
    assert play({}, probes=probes) == [] and len(probes.built) == 1


def test_after_a_hang_the_environment_is_used_again() -> None:
    words = {1: ["hang", "win"], 2: ["win"]}
    with RolloutRunner(scripted(words), Probes(), 1, env_timeout_s=HANG_S / 4) as runner:
        (hung,) = asyncio.run(runner.run([request(1)], SAMPLING))
        asyncio.run(asyncio.sleep(HANG_S))
        (after,) = asyncio.run(runner.run([request(2)], SAMPLING))
    assert (hung.outcome, after.outcome) == ("unresolved", "terminated")


def test_an_environment_that_is_not_bounded_is_refused_and_closed() -> None:
    probes = Probes(replace(CARD, bounded=False))
    with pytest.raises(ValueError, match="ProbeEnv is not declared bounded"):
        play({1: ["win"]}, probes=probes)
    assert [env.num_closed for env in probes.built] == [1]


class SilentEngine:
    """Never answers; counts the sessions that are open."""

    policy_version = 0
    max_context_tokens = 4096

    def __init__(self) -> None:
        self.orders: set[int] = set()

    def open_session(self, order: int) -> SilentSession:
        self.orders.add(order)
        return SilentSession(self, order)

    policy_version = 0
    max_context_tokens = 4096

    async def start(self) -> None: ...

    async def update_weights(self, weights: PublishedWeights) -> None: ...

    def close(self) -> None: ...


class SilentSession:
    def __init__(self, engine: SilentEngine, order: int) -> None:
        self._engine, self._order = engine, order

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        await asyncio.sleep(60)
        raise AssertionError("unreachable")

    def close(self) -> None:
        self._engine.orders.discard(self._order)


def test_a_cancelled_run_closes_its_sessions_and_environments() -> None:
    engine, probes = SilentEngine(), Probes()

    async def run(runner: RolloutRunner) -> None:
        task = asyncio.create_task(runner.run([request(i, i) for i in range(4)], SAMPLING))
        while len(engine.orders) < 2:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with RolloutRunner(engine, probes, 2) as runner:
        asyncio.run(run(runner))
    assert engine.orders == set()
    assert [env.num_closed for env in probes.built] == [1, 1]


def test_an_error_of_the_caller_stops_the_run() -> None:
    def refuse(episode: Episode) -> None:
        raise KeyError(episode.episode_id)

    with pytest.raises(KeyError, match="e"):
        play(WORDS, num_slots=2, on_episode=refuse)


class Flaky(ProbeEnv):
    """Breaks twice, then works."""

    num_faults = 2

    def _act(self, action: str) -> Turn:
        if self.num_faults:
            self.num_faults -= 1
            raise RuntimeError("a wire is loose")
        return super()._act(action)


@pytest.mark.parametrize(
    ("num_retries", "outcome", "num_retried"),
    [(2, "terminated", 2), (1, "unresolved", 1), (0, "unresolved", 0)],
)
def test_an_unresolved_episode_is_played_again_so_often_and_counted(
    num_retries: int, outcome: str, num_retried: int
) -> None:
    engine = scripted({1: ["win"]})
    with RolloutRunner(engine, lambda: TokenEnv(Flaky(), RENDERER), 1, num_retries=num_retries) as runner:
        (episode,) = asyncio.run(runner.run([request(1)], SAMPLING))
    assert episode.outcome == outcome and runner.num_retried == num_retried


def test_episodes_in_worker_processes_are_those_of_this_one() -> None:
    with (
        WorkerPool(WORKER_ENV, {}, toys.CARD, 1, 2, timeout_s=2.0) as pool,
        RolloutRunner(
            ScriptedEngine(lambda prompt_ids, turn: [*b"go", END]),
            lambda: TokenEnv(pool.make_env(), RENDERER),
            num_slots=2,
            num_threads=2,
        ) as runner,
    ):
        requests = [request(index, index) for index in range(4)]
        remote = asyncio.run(runner.run(requests, SAMPLING))
    engine = ScriptedEngine(lambda prompt_ids, turn: [*b"go", END])
    with RolloutRunner(engine, lambda: TokenEnv(toys.Misbehaving(bounded=True), RENDERER), 2) as runner:
        local = asyncio.run(runner.run(requests, SAMPLING))
    assert [episode_to_json(e) for e in remote] == [episode_to_json(e) for e in local]
    assert {episode.outcome for episode in local} == {"truncated"}
