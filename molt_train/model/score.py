"""Logprobs of a micro-batch's trained tokens under a model: the one forward pass of training.

In: a model and a `MicroBatch`. Out: logprobs_N and entropy_N, float32.

The output layer scores the tokens in its own forward pass, in place of making logits: so whatever is hooked
to the model's layers, such as the gathering of sharded weights, happens as in any other pass.
Shapes: B rows, T padded length, N trained tokens.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.distributed.fsdp import FSDPModule
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
    places = {}
    if batch.first_position:
        num_rows, width = batch.token_ids_BT.shape
        positions_T = torch.arange(batch.first_position, batch.first_position + width)
        places["position_ids"] = positions_T.expand(num_rows, width)
    with (
        torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast),
        _scoring(model, batch, temperature),
    ):
        scores_2N = model(input_ids=batch.token_ids_BT, use_cache=False, **places).logits
    return scores_2N[0], scores_2N[1].detach()


@contextmanager
def _scoring(model: PreTrainedModel, batch: MicroBatch, temperature: float) -> Generator[None]:
    """The output layer gives logprobs and entropies of the batch's tokens."""
    head = _output_layer(model)

    def score(hidden_BTD: Tensor) -> Tensor:
        hidden_ND = hidden_BTD.flatten(0, 1)[batch.predictor_N]
        return torch.stack(
            token_logprobs(hidden_ND, head.get_parameter("weight"), batch.targets_N, temperature)
        )

    forward, head.forward = head.forward, score
    try:
        yield
    finally:
        head.forward = forward


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
    places_T, nothing_T = torch.arange(_CHECK_TOKENS), torch.zeros(_CHECK_TOKENS)
    batch = MicroBatch(ids_1T, places_T, ids_1T[0], nothing_T, nothing_T, nothing_T, places_T, _CHECK_TOKENS)
    found_T, _ = score_tokens(model, batch, 1.0, autocast=False)
    free_gathered(model)
    gap = float((found_T - logits_TV.log_softmax(-1).gather(1, ids_1T.T)[:, 0]).abs().max())
    if not gap < (_MAX_GAP_FLOAT32 if model.dtype == torch.float32 else _MAX_GAP):
        raise ValueError(
            f"{type(model).__name__} changes logits after the output matrix: logprobs differ by {gap:.3g}; "
            "training would score other probabilities than were sampled; use a model with plain logits"
        )


def free_gathered(model: PreTrainedModel) -> None:
    """Each process holds its own parts alone again. Gathered weights outlive a pass where the next one needs
    them first; an optimizer changes the parts, and they would be stale."""
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()


def _output_layer(model: PreTrainedModel) -> torch.nn.Module:
    output = model.get_output_embeddings()
    assert isinstance(output, torch.nn.Module), "a causal language model has an output layer"
    return output
