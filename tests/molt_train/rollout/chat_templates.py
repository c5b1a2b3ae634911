"""The chat templates that the package `trl` ships, each with a byte-level tokenizer that has its control
tokens."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

_CONTROL = re.compile(
    r"<\|[^|<>]{1,40}\|>|<｜[^<>｜]{1,40}｜>|<\|[a-z_]+>|<[a-z_]+\|>|</?s>|<(?:bos|eos|start_of_turn|end_of_turn|end_of_utterance)>"
)


def shipped_templates() -> dict[str, str]:
    """Templates by name; a missing package is an error, since the test set contains it."""
    spec = find_spec("trl")
    assert spec is not None and spec.submodule_search_locations is not None, (
        "install the test set: trl is missing"
    )
    folder = Path(spec.submodule_search_locations[0]) / "chat_templates"
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jinja"))}


def tokenizer_for(template: str | None) -> PreTrainedTokenizerFast:
    """Bytes and the control tokens that the template names."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    names = sorted({*_CONTROL.findall(template or ""), "<bos>", "<eos>"})
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<bos>", eos_token="<eos>", clean_up_tokenization_spaces=False
    )
    tokenizer.chat_template = template
    return tokenizer
