"""New models and loading: the same spec gives the same bytes; what is wrong is said by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from molt_train.model.load import WEBSHOP_BASE, load_model
from molt_train.model.new_model import NewModelSpec, new_model
from molt_train.model.tokenizer import train_tokenizer

SPEC = NewModelSpec(env_ids=("molt/WebShop-v0",), hidden_size=32, num_episodes=20, vocab_size=1024)
TEXTS = ["user\nfind a navy blue dress [SEP] B0ABCDEF12 [SEP] $12.50", "assistant\nclick[B0ABCDEF12]"] * 3


def test_same_spec_gives_the_same_bytes(tmp_path: Path) -> None:
    folders = [new_model(SPEC, tmp_path / name) for name in ("a", "b")]
    files = [{file.name: file.read_bytes() for file in folder.iterdir()} for folder in folders]
    assert files[0] == files[1]


def test_another_seed_gives_other_weights(tmp_path: Path) -> None:
    one = new_model(SPEC, tmp_path / "one") / "model.safetensors"
    two = new_model(replace(SPEC, seed=1), tmp_path / "two") / "model.safetensors"
    assert one.read_bytes() != two.read_bytes()


@pytest.mark.parametrize(
    "text", ["", "a  b\n\n c", "héllo 世界 \u200b", "\x00\x07", "<|im_end|>", " [SEP] x"]
)
def test_any_text_comes_back(text: str) -> None:
    tokenizer = train_tokenizer(TEXTS, 1024)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text


def test_a_code_is_one_token_and_the_same_one_on_the_page_and_in_a_click() -> None:
    tokenizer = train_tokenizer(TEXTS, 1024)
    page = tokenizer.tokenize("dress [SEP] B0ABCDEF12 [SEP] $12.50")
    assert tokenizer.tokenize("click[B0ABCDEF12]")[1] == "B0ABCDEF12" and "B0ABCDEF12" in page


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="exists"):
        new_model(SPEC, tmp_path)


def test_the_shipped_model_loads_and_is_small() -> None:
    model, tokenizer = load_model(WEBSHOP_BASE)
    assert sum(parameter.numel() for parameter in model.parameters()) < 2_000_000
    assert tokenizer.chat_template


def test_a_path_that_is_no_folder_names_the_ways_out(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="new-model"):
        load_model(str(tmp_path / "nothing"))


def test_a_folder_without_a_configuration_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"config\.json"):
        load_model(str(tmp_path))


def test_damaged_weights_are_an_error_not_a_traceback(tmp_path: Path) -> None:
    folder = new_model(SPEC, tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(ValueError, match="cannot be loaded"):
        load_model(str(folder))
