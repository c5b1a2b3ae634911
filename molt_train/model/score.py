"""Logprobs of a micro-batch's trained tokens under a model: the one forward pass of training.

In: a model and a `MicroBatch`. Out: logprobs_N and entropy_N, float32.
Shapes: B rows, T padded length, N trained tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import PreTrainedModel

from molt_train.data.packing import MicroBatch
from molt_train.model.logprobs import token_logprobs


def score_tokens(
    model: PreTrainedModel, batch: MicroBatch, temperature: float, autocast: bool
) -> tuple[Tensor, Tensor]:
    """Run the decoder once and score the trained tokens; logits exist for a chunk of those tokens only.

    Args:
        model: a causal language model of transformers.
        batch: rows padded on the right; attention is causal, so no mask is needed.
        temperature: of the distribution that the tokens were sampled from.
        autocast: matrix products in bfloat16.
    """
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        hidden_BTD = model.base_model(input_ids=batch.token_ids_BT, use_cache=False).last_hidden_state
        hidden_ND = hidden_BTD.flatten(0, 1)[batch.predictor_N]
        output = model.get_output_embeddings()
        assert isinstance(output, torch.nn.Linear) and output.bias is None, "an output matrix without bias"
        return token_logprobs(hidden_ND, output.weight, batch.targets_N, temperature)
