"""Published weights: exact, private, two versions at most, and nothing left behind."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from molt_train.model.load import copy_weights
from molt_train.weight_sync import WeightMismatch, WeightPublisher, read_weights
from tests.molt_train.rollout.tiny_models import tiny_model


def test_what_is_read_is_what_was_published() -> None:
    source, copy = tiny_model(seed=1), tiny_model(seed=2)
    with WeightPublisher() as publisher:
        weights = publisher.publish(source, 7)
        assert weights.version == 7
        copy_weights(weights, copy)
    for name, tensor in source.state_dict().items():
        assert torch.equal(copy.state_dict()[name], tensor)


def test_another_architecture_is_refused_and_the_model_left_as_it_was() -> None:
    model = tiny_model("llama", seed=3)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with WeightPublisher() as publisher, pytest.raises(WeightMismatch, match="q_norm"):
        copy_weights(publisher.publish(tiny_model(), 1), model)
    assert all(torch.equal(model.state_dict()[name], tensor) for name, tensor in before.items())


def test_only_the_last_two_versions_stay_and_none_after_the_end() -> None:
    with WeightPublisher() as publisher:
        published = [publisher.publish(tiny_model(), version) for version in range(4)]
        assert [weights.path.exists() for weights in published] == [False, False, True, True]
        folder = published[-1].path.parents[1]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        again = read_weights(publisher.publish(tiny_model(seed=5), 3))
        assert torch.equal(again["lm_head.weight"], tiny_model(seed=5).state_dict()["lm_head.weight"])
    assert not folder.exists()


KILLED = """
import os, signal
from molt_train.weight_sync import WeightPublisher
publisher = WeightPublisher()
print(publisher.folder.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_folder_of_a_killed_process_goes_with_the_next_publisher() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, check=False)
    left = Path(done.stdout.strip())
    assert done.returncode < 0 and left.is_dir()
    with WeightPublisher() as publisher:
        assert not left.exists()
        assert publisher.folder.path.exists() and str(os.getpid()) in publisher.folder.path.name
