"""The real 135M instruct model through the same path: render, sample, one training step."""

from __future__ import annotations

import json

import pytest

from molt_envs import Message
from molt_train.config import load_config
from molt_train.loop.run import train
from molt_train.model.load import load_model
from molt_train.model.smollm2 import SMOLLM2_NAME
from molt_train.monitor.progress import Silent
from molt_train.rollout.chat_renderer import ChatRenderer

pytestmark = pytest.mark.real


def test_it_answers_and_its_template_is_followed_token_by_token():
    import torch

    model, tokenizer = load_model(SMOLLM2_NAME)
    renderer = ChatRenderer(tokenizer)
    question = [Message("user", "What is the capital of France?")]
    prompt = renderer.encode(question)
    output = model.generate(torch.tensor([prompt]), max_new_tokens=16, do_sample=False)
    sampled = output[0, len(prompt) :].tolist()
    answer = renderer.parse(sampled)
    assert "Paris" in answer.text
    following = Message("user", "And of Spain?")
    appended = renderer.extend([*question, answer], sampled, [following])
    assert appended is not None
    assert prompt + sampled + appended == renderer.encode([*question, answer, following])


def test_one_training_step_on_webshop(tmp_path):
    overrides = [
        f"run.dir={tmp_path / 'run'}", "train.num_steps=1", "eval.num_tasks=1", "rollout.num_tasks=1",
        "rollout.group_size=2", "env.kwargs.max_turns=2", "rollout.max_turn_tokens=12",
        'algorithm.advantage="rloo"', "train.autocast=none",
    ]  # fmt: skip
    train(load_config("webshop-smollm2", overrides), Silent())
    row = json.loads((tmp_path / "run" / "metrics.jsonl").read_text())
    assert row["num_episodes"] == 2 and row["num_unresolved"] == 0
    assert row["logprob_gap_max"] < 1e-3
