"""Whole runs of `molt-train` on WebShop: recorded, repeatable byte for byte, resumable, and inert at
learning rate 0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from molt_train.config import Config, load_config
from molt_train.loop.run import evaluate_policy, train
from molt_train.loop.sft import train_sft
from molt_train.monitor.progress import Silent

pytestmark = pytest.mark.real

SMALL = (
    "env.kwargs.page_size=3",
    "rollout.num_tasks=2",
    "rollout.group_size=4",
    "rollout.num_slots=8",
    "eval.num_tasks=6",
    "eval.num_slots=6",
    "train.num_steps=3",
    "rollout.max_context_tokens=1024",
    "rollout.max_turn_tokens=8",
    "run.checkpoint_every=1",
    "run.keep_last=3",
)


def configure(model: Path, folder: Path, *overrides: str) -> Config:
    return load_config("webshop", [f"model.path={model}", f"run.dir={folder}", *SMALL, *overrides])


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_same_seed_gives_the_same_metrics_byte_for_byte(small_model, tmp_path):
    for name in ("a", "b"):
        train(configure(small_model, tmp_path / name), Silent())
    for file in ("metrics.jsonl", "evals.jsonl"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert len(rows(tmp_path / "a" / "metrics.jsonl")) == 3
    assert (tmp_path / "a" / "report.html").stat().st_size > 10_000


def test_another_seed_gives_other_metrics(small_model, tmp_path):
    for seed in (0, 1):
        train(
            configure(small_model, tmp_path / str(seed), f"train.seed={seed}", "train.num_steps=1"), Silent()
        )
    assert (tmp_path / "0" / "metrics.jsonl").read_bytes() != (tmp_path / "1" / "metrics.jsonl").read_bytes()


def test_resumed_run_equals_the_undisturbed_one(small_model, tmp_path):
    train(configure(small_model, tmp_path / "whole"), Silent())
    train(configure(small_model, tmp_path / "cut", "train.num_steps=1"), Silent())
    train(configure(small_model, tmp_path / "cut", "run.resume=true"), Silent())
    whole, cut = (rows(tmp_path / name / "metrics.jsonl") for name in ("whole", "cut"))
    assert whole == cut


def test_learning_rate_zero_changes_nothing(small_model, tmp_path):
    train(configure(small_model, tmp_path / "zero", "optimizer.lr=0.0"), Silent())
    first, last = rows(tmp_path / "zero" / "evals.jsonl")
    assert {**first, "step": 0} == {**last, "step": 0}


def test_supervised_warm_up_lowers_the_loss_and_its_model_loads(small_model, tmp_path):
    config = configure(
        small_model, tmp_path / "sft", "sft.num_steps=20", "sft.num_episodes=40", "sft.lr=0.01"
    )
    folder = train_sft(config, Silent())
    losses = [row["sft_loss"] for row in rows(folder / "metrics.jsonl")]
    assert losses[-1] < losses[0]
    evaluate_policy(configure(folder / "model", tmp_path / "eval"), Silent())
    assert rows(tmp_path / "eval" / "evals.jsonl")[0]["eval_num_episodes"] == 6
