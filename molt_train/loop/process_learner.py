"""A learner of several processes on this machine.

In: the loop's calls. Out: process 0's answers. A process that dies or does not answer takes the others along:
`LearnerLost` is raised, and the run goes on from its last checkpoint.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import multiprocessing
import signal
import socket
import time
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

import torch

from molt_train.config import Config
from molt_train.loop.learner_client import LearnerLost
from molt_train.loop.rank_learner import METHODS, RankLearner
from molt_train.rewards import Graded
from molt_train.threads import share_cores
from molt_train.weight_sync import PublishedWeights

START_TIMEOUT_S = 600.0
"""Imports and the loading of the model."""
STEP_TIMEOUT_S = 24 * 3600.0
"""One update of the largest model; a process that waits for another gives up after `parallel.timeout_s`."""
STOP_TIMEOUT_S = 10.0
_PR_SET_PDEATHSIG = 1


class ProcessLearner:
    """Implements `LearnerClient`.

    Raises:
        ValueError: the grid does not fit the model.
        LearnerLost: a process died while it started.
    """

    def __init__(self, config: Config) -> None:
        self._policy_version = 0
        self._config = config
        self._processes: list[Any] = []
        self._connections: list[Connection] = []
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([RankLearner.__module__])
        address = f"127.0.0.1:{_free_port()}"
        for rank in range(config.parallel.num_processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, config, rank, address), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._connections.append(ours)
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._collect("start", START_TIMEOUT_S)
            undo.pop_all()

    @property
    def policy_version(self) -> int:
        """Updates so far."""
        return self._policy_version

    async def train_step(self, graded: Sequence[Graded]) -> dict[str, float]:
        """One update; gives its metrics."""
        metrics = await self._call("train_step", STEP_TIMEOUT_S, list(graded))
        self._policy_version += 1
        return metrics

    async def publish(self) -> PublishedWeights:
        """The weights as a file in shared memory."""
        return await self._call("publish", self._timeout_s)

    async def state(self) -> dict[str, Any]:
        """What a checkpoint needs to go on exactly, with any number of processes."""
        return await self._call("state", self._timeout_s)

    async def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()`."""
        self._policy_version = await self._call("load_state", self._timeout_s, state)

    async def export(self, folder: Path) -> None:
        """Write the model in the Hugging Face format."""
        await self._call("export", self._timeout_s, folder)

    def close(self) -> None:
        """End the processes; idempotent."""
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.send(None)
        end = time.monotonic() + STOP_TIMEOUT_S
        for process in self._processes:
            process.join(max(0.0, end - time.monotonic()))
            process.kill()
            process.join()
        for connection in self._connections:
            connection.close()
        self._processes.clear()
        self._connections.clear()

    @property
    def _timeout_s(self) -> float:
        return self._config.cluster.call_timeout_s + self._config.parallel.timeout_s

    async def _call(self, name: str, timeout_s: float, *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, self._ask, name, timeout_s, args)

    def _ask(self, name: str, timeout_s: float, args: tuple[Any, ...]) -> Any:
        for connection in self._connections:
            with contextlib.suppress(OSError):  # its process is dead, as `_collect` will see
                connection.send((name, args))
        return self._collect(name, timeout_s)

    def _collect(self, name: str, timeout_s: float) -> Any:
        """Every process's answer; process 0's is given."""
        end = time.monotonic() + timeout_s
        waiting = dict(enumerate(self._connections))
        answers: dict[int, Any] = {}
        while waiting:
            dead = [rank for rank in waiting if not self._processes[rank].is_alive()]
            ends = {self._processes[rank].sentinel for rank in waiting}
            ready = wait([*waiting.values(), *ends], max(0.0, end - time.monotonic()))
            if not ready:
                self._give_up(f"learner processes {sorted(waiting)} did not {name} within {timeout_s:g} s")
            for rank, connection in list(waiting.items()):
                if connection in ready:
                    answers[rank] = self._receive(rank, name, connection)
                    del waiting[rank]
                elif rank in dead:
                    code = self._processes[rank].exitcode
                    self._give_up(f"learner process {rank} died in {name} (exit code {code})")
        return answers[0]

    def _receive(self, rank: int, name: str, connection: Connection) -> Any:
        try:
            kind, value = connection.recv()
        except (EOFError, ConnectionResetError):
            self._processes[rank].join(STOP_TIMEOUT_S)
            self._give_up(
                f"learner process {rank} died in {name} (exit code {self._processes[rank].exitcode})"
            )
        if kind == "wrong":
            raise ValueError(value)
        if kind == "failed":
            self._give_up(f"learner process {rank} failed in {name}: {value}")
        return value

    def _give_up(self, why: str) -> NoReturn:
        for process in self._processes:
            process.kill()
        raise LearnerLost(why)


def _serve(connection: Connection, config: Config, rank: int, address: str) -> None:
    """What each process runs: the calls that come, until None or the owner's end."""
    # The parent is the server that forks these processes, which ends with the driver.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(share_cores(config.parallel.num_processes))
    learner: RankLearner | None = None
    name, args = "start", ()
    while True:
        try:
            if learner is None:
                learner = RankLearner(config, rank, address)
                answer: Any = None
            else:
                answer = METHODS[name](learner, *args)
            connection.send(("ok", answer))
        except ValueError as error:
            connection.send(("wrong", str(error)))
        except RuntimeError:
            connection.send(("failed", traceback.format_exc(limit=-3)))
        try:
            call = connection.recv()
        except EOFError:
            break
        if call is None:
            break
        name, args = call
    if learner is not None:
        learner.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
