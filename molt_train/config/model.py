"""Section `model`: which language model is trained. In: TOML values. Out: `ModelConfig`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from molt_train.config.base import Section


class ModelConfig(Section):
    """The policy's weights and how they are held."""

    path: str = Field(min_length=1)
    """Folder of a model in the Hugging Face format, or a known name such as `SmolLM2-135M-Instruct`."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of the weights. The optimizer's state has it too: bfloat16 is for models that are not trained."""
    gradient_checkpointing: bool = False
    """Compute activations again in the backward pass: less memory, about a third more time."""
