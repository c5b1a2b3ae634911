"""One small model, built once and shared by the real tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from molt_train.model.new_model import NewModelSpec, new_model


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new, untrained model of WebShop's words."""
    spec = NewModelSpec(env_ids=("molt/WebShop-v0",), hidden_size=64, num_episodes=200, vocab_size=2048)
    return new_model(spec, tmp_path_factory.mktemp("model") / "start")
