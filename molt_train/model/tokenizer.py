"""Makes a small tokenizer whose tokens are the words of a given set of texts.

In: texts. Out: a fast tokenizer with a ChatML template; any string is representable (bytes), and decoding
gives it back.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END, START, PAD = "<|im_end|>", "<|im_start|>", "<|pad|>"

# A marker such as ` [SEP] ` keeps its blanks and an opening `click[` its bracket, so that what stands
# between two of them is the same token wherever it stands: that is what a small model copies.
_WORD = Regex(
    r" ?\[[A-Z]+\] ?"
    r"|[A-Za-z]+[\[\n]"
    r"| ?B0[A-Z0-9]{8}"
    r"| ?\$?\d+(?:\.\d+)?"
    r"| ?[A-Za-z][A-Za-z'’-]*"
    r"| ?[^\sA-Za-z0-9]"
    r"|\s"
)

CHAT_TEMPLATE = (
    "{%- if tools -%}{{ '<|im_start|>system\\nTools:\\n' + (tools | tojson) + '<|im_end|>\\n' }}{%- endif -%}"
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.reasoning_content -%}"
    "{{ '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}"
    "{%- endif -%}"
    "{{ message.content }}"
    "{%- for call in message.tool_calls or [] -%}"
    "{{ '\\n<tool_call>\\n' + (call.function | tojson) + '\\n</tool_call>' }}"
    "{%- endfor -%}"
    "{{ '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """Count words and keep the most frequent ones whole; the rest falls back to pairs and bytes.

    Args:
        texts: what the tokenizer will see most; their order does not matter.
        vocab_size: most tokens, control tokens included.

    Raises:
        ValueError: fewer tokens than bytes and control tokens need.
    """
    controls = [PAD, START, END]
    if vocab_size < 512:
        raise ValueError(f"vocab_size is {vocab_size}; bytes, control tokens and pairs need at least 512")
    text_list = sorted(texts)
    num_pairs = min(256, vocab_size // 8)
    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = _pre_tokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=256 + num_pairs,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    pairs.train_from_iterator(text_list, trainer)
    base = _model_parts(pairs)
    counts = Counter(piece for text in text_list for piece, _ in pairs.pre_tokenizer.pre_tokenize_str(text))
    vocab: dict[str, int] = {token: index for index, token in enumerate(controls)}
    for token in sorted(base["vocab"], key=lambda token: base["vocab"][token]):
        vocab.setdefault(token, len(vocab))
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if len(vocab) >= vocab_size or count < 2:
            break
        vocab.setdefault(word, len(vocab))
    tokenizer = Tokenizer(
        models.BPE(vocab=vocab, merges=[tuple(pair) for pair in base["merges"]], ignore_merges=True)
    )
    tokenizer.pre_tokenizer = _pre_tokenizer()
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in controls])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token=PAD, clean_up_tokenization_spaces=False
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def _pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_WORD, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _model_parts(tokenizer: Tokenizer) -> dict[str, Any]:
    return json.loads(tokenizer.to_str())["model"]
