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

_CHECK_TOKENS = 16
_MAX_GAP_FLOAT32, _MAX_GAP = 1e-3, 0.1


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
        return token_logprobs(hidden_ND, _output_matrix(model), batch.targets_N, temperature)


@torch.no_grad()
def check_scores(model: PreTrainedModel) -> None:
    """Hold `score_tokens` against the model's own logits on a short sequence.

    Raises:
        ValueError: they differ, as for models that scale, cap or shift their logits after the output matrix.
    """
    ids_1T = (
        torch.arange(_CHECK_TOKENS, device=model.device)[None] % model.config.get_text_config().vocab_size
    )
    logits_TV = model(input_ids=ids_1T, use_cache=False).logits[0].float()
    hidden_TD = model.base_model(input_ids=ids_1T, use_cache=False).last_hidden_state[0]
    found_T, _ = token_logprobs(hidden_TD, _output_matrix(model), ids_1T[0])
    gap = float((found_T - logits_TV.log_softmax(-1).gather(1, ids_1T.T)[:, 0]).abs().max())
    if not gap < (_MAX_GAP_FLOAT32 if model.dtype == torch.float32 else _MAX_GAP):
        raise ValueError(
            f"{type(model).__name__} changes logits after the output matrix: logprobs differ by {gap:.3g}; "
            "training would score other probabilities than were sampled; use a model with plain logits"
        )


def _output_matrix(model: PreTrainedModel) -> Tensor:
    output = model.get_output_embeddings()
    assert isinstance(output, torch.nn.Module), "a causal language model has an output matrix"
    return output.get_parameter("weight")
