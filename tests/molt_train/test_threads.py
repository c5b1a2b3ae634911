"""Cores are shared out among the processes that compute (torchtitan#4038: each took all of them)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

from molt_train.threads import VARIABLE, share_cores


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("num_processes", "expected"), [(1, 6), (2, 3), (4, 1), (50, 1)])
def test_the_cores_at_hand_are_divided(
    num_processes: int, expected: int, monkeypatch: pytest.MonkeyPatch, threads: None
) -> None:
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)))
    assert share_cores(num_processes) == expected == torch.get_num_threads()
    assert os.environ[VARIABLE] == str(expected)


def test_what_was_asked_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    before = torch.get_num_threads()
    assert share_cores(2) == 3 and torch.get_num_threads() == before
