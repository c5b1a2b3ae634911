"""One command evaluates the real 135M instruct model: on text, with tools, and in a game for two seats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from molt_envs.cli import app

POLICY = "python:molt_train.rollout.hub_policy:LocalModel:SmolLM2-135M-Instruct"


@pytest.mark.real
@pytest.mark.timeout(900)
@pytest.mark.parametrize("env_id", ["molt/WebShop-v0", "molt/ToolCalls-v0", "molt/KuhnPoker-v0"])
def test_a_real_model_is_evaluated_and_replayed(tmp_path: Path, env_id: str) -> None:
    out = str(tmp_path)
    options = ("--policy", POLICY, "--episodes", "2", "--max-tokens", "16", "--out", out)
    result = CliRunner().invoke(app, ["eval", env_id, *options])
    assert result.exit_code == 0, result.output
    (environment,) = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["environments"]
    assert environment["outcomes"].get("unresolved", 0) == 0, environment["reason"]
    assert environment["num_tasks"] == 2
    assert environment["num_completion_tokens"] > 0
    assert CliRunner().invoke(app, ["replay", out]).exit_code == 0
