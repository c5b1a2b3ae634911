"""Scores of packed rows equal those of each segment alone under transformers."""

from __future__ import annotations

import pytest
import torch
from transformers import Gemma2Config, Gemma2ForCausalLM

from molt_train.data.packing import make_micro_batches
from molt_train.data.samples import assign_advantages, select
from molt_train.model.score import check_scores, score_tokens
from molt_train.rollout.engine import Sampling
from tests.molt_train.episodes import random_batch
from tests.molt_train.rollout.tiny_models import full_logprobs, tiny_model


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("temperature", [0.6, 1.0])
def test_scores_equal_a_plain_forward(temperature: float, tied: bool) -> None:
    model = tiny_model()
    if tied:
        model.get_output_embeddings().weight = model.get_input_embeddings().weight
    samples = assign_advantages(select(random_batch())[0], "grpo")
    batches = make_micro_batches(samples, 64)
    assert len(batches) > 1 and max(len(batch.token_ids_BT) for batch in batches) > 1
    expected: dict[int, list[float]] = {}
    for number, sample in enumerate(samples):
        logprobs = full_logprobs(model, sample.segment.token_ids.tolist(), 1, Sampling(1, temperature))
        mask = sample.segment.loss_mask[1:]
        expected[number] = [logprob for logprob, trained in zip(logprobs, mask, strict=True) if trained]
    for batch in batches:
        with torch.no_grad():
            logprobs_N, entropy_N = score_tokens(model, batch, temperature, autocast=False)
        numbers = list(dict.fromkeys(batch.sequence_N.tolist()))
        wanted = torch.tensor([value for number in numbers for value in expected[number]])
        torch.testing.assert_close(logprobs_N, wanted, atol=1e-5, rtol=1e-5)
        assert entropy_N.shape == logprobs_N.shape and bool((entropy_N > 0).all())


def test_autocast_is_near() -> None:
    model = tiny_model()
    batch = make_micro_batches(assign_advantages(select(random_batch())[0], "grpo"), 10_000)[0]
    with torch.no_grad():
        exact, near = (score_tokens(model, batch, 1.0, autocast)[0] for autocast in (False, True))
    assert near.dtype == torch.float32
    assert 0 < (exact - near).abs().mean() < 0.1


def test_a_model_that_caps_its_logits_is_refused() -> None:
    check_scores(tiny_model())
    sizes = {
        "vocab_size": 97,
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "intermediate_size": 48,
        "initializer_range": 0.5,
    }
    torch.manual_seed(0)
    capped = Gemma2ForCausalLM(Gemma2Config(**sizes, final_logit_softcapping=30.0)).eval()
    with pytest.raises(ValueError, match="Gemma2ForCausalLM changes logits"):
        check_scores(capped)
    check_scores(Gemma2ForCausalLM(Gemma2Config(**sizes, final_logit_softcapping=None)).eval())
