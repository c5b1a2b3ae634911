"""Five kills and hangs in one run through vLLM: it ends, with every task trained on once and nothing left."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed: make install-vllm")

from benchmarks.chaos import disturb

pytestmark = pytest.mark.real
EVENTS = ("kill engine", "kill worker", "kill driver", "hang worker", "kill driver")
NUM_STEPS = 30


def test_a_disturbed_run_ends_with_every_task_trained_on_once(tmp_path: Path) -> None:
    outcome = disturb(tmp_path / "run", NUM_STEPS, EVENTS, seed=3)
    assert sorted(outcome.done) == sorted(EVENTS)
    assert outcome.faults == []
