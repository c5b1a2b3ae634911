"""Writes a model as a Hugging Face folder that transformers and inference engines load.

In: a model and its tokenizer. Out: a folder that is either whole or absent.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase


def export_model(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, out: Path, *, is_writer: bool = True
) -> Path:
    """Write weights, configuration, tokenizer and chat template; an earlier export at `out` is replaced.

    A model that lies over several processes is exported by all of them, of which one is the writer.
    """
    if not is_writer:
        model.save_pretrained(out.parent, is_main_process=False)
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".export-", dir=out.parent))
    try:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        if out.exists():
            shutil.rmtree(out)
        os.replace(temporary, out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return out
