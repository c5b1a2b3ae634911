"""Checkpoints: exact, atomic, damage is noticed, old ones go."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from molt_train.model.checkpoint import (
    CheckpointError,
    CheckpointWarning,
    load_checkpoint,
    load_latest,
    save_checkpoint,
)
from molt_train.model.random_state import capture_random_state, restore_random_state


def state(step: int) -> dict[str, Any]:
    return {"weight": torch.full((2, 3), float(step)), "sampler": {"epoch": 1, "position": step}}


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_values_of_all_kinds_come_back_equal(tmp_path: Path) -> None:
    value = {
        "none": None, "flag": True, "big": 2**127, "float": 0.1, "text": "ä\n\x00", "list": [1, [2.5]],
        "tuple": (1, ("a", None)), "numbers": {0: "x", (1, 2): "y"}, "tag": {"#": "tensor"}, "empty": {},
    }  # fmt: skip
    loaded = load_checkpoint(save_checkpoint(tmp_path, 1, value)).state
    assert loaded == value
    assert isinstance(loaded["tuple"], tuple) and isinstance(loaded["flag"], bool)


def test_numbers_that_are_not_finite_come_back(tmp_path: Path) -> None:
    loaded = load_checkpoint(save_checkpoint(tmp_path, 1, {"a": [math.inf, -math.inf, math.nan]})).state["a"]
    assert loaded[:2] == [math.inf, -math.inf] and math.isnan(loaded[2])


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.uint32, torch.bool],
)
def test_tensors_come_back_bit_by_bit(tmp_path: Path, dtype: torch.dtype) -> None:
    tensor = (torch.arange(12).reshape(3, 4).T % 2).to(dtype)
    scalar, empty = torch.tensor(3).to(dtype), torch.zeros(0, 2).to(dtype)
    loaded = load_checkpoint(save_checkpoint(tmp_path, 1, {"t": tensor, "s": scalar, "e": empty})).state
    for got, expected in ((loaded["t"], tensor), (loaded["s"], scalar), (loaded["e"], empty)):
        assert got.dtype == dtype and got.shape == expected.shape and torch.equal(got, expected)


def test_arrays_come_back_as_arrays(tmp_path: Path) -> None:
    array = np.arange(5, dtype=np.uint32)
    loaded = load_checkpoint(save_checkpoint(tmp_path, 1, {"a": array})).state["a"]
    assert isinstance(loaded, np.ndarray) and loaded.dtype == array.dtype and (loaded == array).all()


def test_tied_tensors_are_stored_once_and_views_apart(tmp_path: Path) -> None:
    weight = torch.arange(6.0).reshape(2, 3)
    value = {"embed": weight, "head": weight, "flat": weight.view(-1), "row": weight[1]}
    path = save_checkpoint(tmp_path, 1, value)
    loaded = load_checkpoint(path).state
    assert loaded["embed"].data_ptr() == loaded["head"].data_ptr()
    assert torch.equal(loaded["flat"], weight.view(-1)) and torch.equal(loaded["row"], weight[1])


def test_keys_that_look_alike_do_not_mix(tmp_path: Path) -> None:
    value = {"a/b": torch.tensor(1), "a": {"b": torch.tensor(2)}, "1": torch.tensor(3), 1: torch.tensor(4)}
    assert load_checkpoint(save_checkpoint(tmp_path, 1, value)).state == value


def test_what_cannot_be_stored_is_named_and_leaves_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a/0 is object"):
        save_checkpoint(tmp_path, 1, {"a": [object()]})
    assert load_latest(tmp_path) is None
    save_checkpoint(tmp_path, 2, state(2))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000002"]


def test_training_goes_on_bit_by_bit(tmp_path: Path) -> None:
    def build() -> tuple[torch.nn.Linear, torch.optim.AdamW]:
        model = torch.nn.Linear(3, 2)
        return model, torch.optim.AdamW(model.parameters(), lr=0.1, betas=(0.9, 0.95))

    def train(model: torch.nn.Linear, optimizer: torch.optim.AdamW, num_steps: int) -> list[float]:
        losses: list[float] = []
        for _ in range(num_steps):
            noise = random.random() + float(np.random.rand())
            loss = (model(torch.randn(4, 3)) - noise).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    torch.manual_seed(0)
    model, optimizer = build()
    train(model, optimizer, 3)
    kept = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": capture_random_state(),
    }
    save_checkpoint(tmp_path, 3, kept)
    expected = train(model, optimizer, 3)

    torch.manual_seed(99)
    other, other_optimizer = build()
    checkpoint = load_latest(tmp_path)
    assert checkpoint is not None and checkpoint.step == 3
    other.load_state_dict(checkpoint.state["model"])
    other_optimizer.load_state_dict(checkpoint.state["optimizer"])
    restore_random_state(checkpoint.state["random"])
    assert train(other, other_optimizer, 3) == expected
    assert torch.equal(other.weight, model.weight)


def test_only_the_last_ones_are_kept(tmp_path: Path) -> None:
    for step in (8, 9, 10, 100):
        save_checkpoint(tmp_path, step, state(step), keep_last=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000010", "step-00000100"]


def test_no_checkpoint_is_none(tmp_path: Path) -> None:
    assert load_latest(tmp_path / "absent") is None


@pytest.mark.parametrize("name", ["tensors.safetensors", "state.json", "manifest.json"])
def test_a_damaged_file_is_noticed_and_the_one_before_is_taken(tmp_path: Path, name: str) -> None:
    for step in (1, 2):
        save_checkpoint(tmp_path, step, state(step))
    damage(tmp_path / "step-00000002" / name)
    with pytest.warns(CheckpointWarning, match=r"step-00000002.* damaged"):
        checkpoint = load_latest(tmp_path)
    assert checkpoint is not None and checkpoint.step == 1
    assert torch.equal(checkpoint.state["weight"], torch.full((2, 3), 1.0))


@pytest.mark.parametrize("name", ["tensors.safetensors", "state.json", "manifest.json"])
def test_a_lost_file_is_noticed(tmp_path: Path, name: str) -> None:
    (save_checkpoint(tmp_path, 1, state(1)) / name).unlink()
    with pytest.raises(CheckpointError, match=r"step-00000001"):
        load_checkpoint(tmp_path / "step-00000001")


def test_when_all_are_damaged_it_says_so(tmp_path: Path) -> None:
    damage(save_checkpoint(tmp_path, 1, state(1)) / "tensors.safetensors")
    with (
        pytest.warns(CheckpointWarning),
        pytest.raises(CheckpointError, match=r"no checkpoint in .* is intact"),
    ):
        load_latest(tmp_path)


def test_another_format_is_refused(tmp_path: Path) -> None:
    manifest = save_checkpoint(tmp_path, 1, state(1)) / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 2', '"format": 1'))
    with pytest.raises(CheckpointError, match="format 1"):
        load_checkpoint(manifest.parent)


def test_an_unfinished_checkpoint_is_ignored_and_cleared_away(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, state(1))
    (tmp_path / ".unfinished-2-1").mkdir()
    loaded = load_latest(tmp_path)
    assert loaded is not None and loaded.step == 1
    save_checkpoint(tmp_path, 3, state(3))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000001", "step-00000003"]


def test_a_step_is_written_again_in_place(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, state(1))
    save_checkpoint(tmp_path, 1, state(7))
    loaded = load_latest(tmp_path)
    assert loaded is not None and loaded.state["sampler"]["position"] == 7
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]
