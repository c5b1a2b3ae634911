"""The learner on grids of gloo processes: the gradients and metrics of one process, whatever the split.

One group of four processes and one of two run every case.
"""

from __future__ import annotations

import math
import multiprocessing
import socket
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.molt_train.model.grids import Case, Step, largest_relative_gap, make_models, step

DENSE_GRIDS = (
    {"fsdp_size": 2},
    {"fsdp_size": 4},
    {"fsdp_size": 2, "replicas": 2},
    {"fsdp_size": 2, "tp_size": 2},
    {"tp_size": 4},
    {"fsdp_size": 2, "sp_size": 2},
    {"fsdp_size": 4, "sp_size": 4},
    {"fsdp_size": 2, "replicas": 2, "sp_size": 2},
    {"fsdp_size": 2, "tp_size": 2, "sp_size": 2},
)
EXPERT_GRIDS = (
    {"fsdp_size": 4},
    {"fsdp_size": 2, "ep_size": 2},
    {"fsdp_size": 4, "ep_size": 2},
    {"fsdp_size": 4, "ep_size": 4},
    {"fsdp_size": 2, "replicas": 2, "ep_size": 2},
    {"fsdp_size": 4, "ep_size": 4, "sp_size": 2},
)
TENSOR_EXPERT_GRIDS = (
    {"fsdp_size": 2, "tp_size": 2, "ep_size": 2},
    {"fsdp_size": 2, "tp_size": 2, "ep_size": 4},
)
CASES = [
    *(Case("qwen3", grid) for grid in DENSE_GRIDS),
    *(Case(model, grid) for model in ("qwen3_moe", "deepseek_v3") for grid in EXPERT_GRIDS),
    *(Case("qwen3_moe", grid) for grid in TENSOR_EXPERT_GRIDS),
    *(Case(model, {"fsdp_size": 4}, micro_batch_tokens=4096) for model in ("qwen3", "qwen3_moe")),
    Case("qwen3", {"fsdp_size": 2, "tp_size": 2}, micro_batch_tokens=4096),
    Case("qwen3_moe", {"fsdp_size": 4, "ep_size": 4}, micro_batch_tokens=4096),
    Case("deepseek_v3", {"fsdp_size": 4, "ep_size": 2}, micro_batch_tokens=4096),
    Case("qwen3", {"fsdp_size": 2}, kl_coef=0.1),
]
LIMIT, CHANGE_LIMIT = 1e-5, 1e-3
"""Changes are differences of weights a thousand times as large."""


class Group:
    """Processes that wait for work together."""

    def __init__(self, size: int) -> None:
        context: Any = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([step.__module__])
        self._workers = [ProcessPoolExecutor(1, context, torch.set_num_threads, (1,)) for _ in range(size)]
        self._address = f"127.0.0.1:{free_port()}"

    def run(self, case: Case, models: Path) -> list[Step]:
        """The case's step on all of them."""
        calls = [
            worker.submit(step, case, models, rank, self._address)
            for rank, worker in enumerate(self._workers)
        ]
        done, _ = wait(calls, 100, FIRST_EXCEPTION)
        for call in done:
            call.result()
        return [call.result(0) for call in calls]

    def close(self) -> None:
        """End them, also those that wait for another that failed."""
        for process in multiprocessing.active_children():
            process.kill()
        for worker in self._workers:
            worker.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def groups() -> Iterator[dict[int, Group]]:
    made = {size: Group(size) for size in (2, 4)}
    yield made
    for group in made.values():
        group.close()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def alone(models: Path) -> Generator[Any]:
    """What one process finds, by model, budget and reference."""
    known: dict[Any, Any] = {}

    def find(case: Case) -> Step:
        key = (case.model, case.micro_batch_tokens, case.kl_coef)
        if key not in known:
            known[key] = step(Case(case.model, {}, case.micro_batch_tokens, case.kl_coef), models)
        return known[key]

    yield find


@pytest.mark.real
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_grid_finds_the_gradients_and_metrics_of_one_process(
    case: Case, groups: dict[int, Group], models: Path, alone: Any
) -> None:
    expected, expected_changes, expected_metrics = alone(case)
    num_processes = math.prod(case.grid.get(key, 1) for key in ("replicas", "fsdp_size", "tp_size"))
    for gradients, changes, metrics in groups[num_processes].run(case, models):
        assert largest_relative_gap(gradients, expected) <= LIMIT
        assert largest_relative_gap(changes, expected_changes) <= CHANGE_LIMIT
        assert metrics == pytest.approx(expected_metrics, rel=1e-4, abs=1e-6)


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
