"""Small training runs on WebShop for the real tests: settings, numbers, and what was trained on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from molt_train.config import Config, load_config
from molt_train.loop.collector import Collector
from molt_train.model.load import WEBSHOP_BASE
from molt_train.rewards import Graded

NUM_TASKS, GROUP_SIZE = 4, 2


def settings(folder: Path, num_steps: int, *overrides: str) -> Config:
    """The webshop recipe, small."""
    values = {
        "model.path": WEBSHOP_BASE, "run.dir": folder, "run.num_samples": 0,
        "rollout.num_tasks": NUM_TASKS, "rollout.group_size": GROUP_SIZE, "rollout.num_slots": 8,
        "rollout.max_turn_tokens": 16, "rollout.max_context_tokens": 640, "rollout.num_retries": 10,
        "eval.num_tasks": 4, "eval.num_slots": 4, "train.num_steps": num_steps,
    }  # fmt: skip
    return load_config("webshop", [*(f"{key}={value}" for key, value in values.items()), *overrides])


def metrics(folder: Path) -> list[dict[str, Any]]:
    """The run's rows."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


class Trained:
    """Sees every batch that goes to the learner, and may act before each."""

    def __init__(self, before: Callable[[int], None] = lambda step: None) -> None:
        self.batches: list[list[Graded]] = []
        take = Collector.take

        async def spy(collector: Collector, version: int) -> tuple[list[Graded], int]:
            before(len(self.batches))
            batch, num_dropped = await take(collector, version)
            self.batches.append(batch)
            return batch, num_dropped

        self.spy = spy

    @property
    def task_ids(self) -> list[str]:
        """Of every group, in the order of training."""
        return [item.episode.task_id for batch in self.batches for item in batch[::GROUP_SIZE]]

    @property
    def outcomes(self) -> Sequence[str]:
        """Of every episode."""
        return [item.episode.outcome for batch in self.batches for item in batch]
