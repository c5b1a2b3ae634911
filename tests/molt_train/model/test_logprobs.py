"""Logprobs without logits equal those of a full log_softmax: values, entropies, gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from molt_train.model.logprobs import token_logprobs


def inputs(num_tokens: int = 23, size: int = 16, vocab: int = 51) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(3)
    hidden = torch.randn(num_tokens, size, generator=generator, requires_grad=True)
    weight = torch.randn(vocab, size, generator=generator, requires_grad=True)
    targets = torch.randint(vocab, (num_tokens,), generator=generator)
    return hidden, weight, targets, torch.randn(num_tokens, generator=generator)


def full(
    hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, temperature: float
) -> tuple[torch.Tensor, torch.Tensor]:
    logprobs = torch.log_softmax(hidden @ weight.T / temperature, dim=-1)
    return logprobs.gather(1, targets[:, None])[:, 0], -(logprobs.exp() * logprobs).sum(-1)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.7])
@pytest.mark.parametrize("chunk", [1, 4, 23, 1000])
def test_values_and_gradients_equal_a_full_log_softmax(chunk: int, temperature: float) -> None:
    hidden, weight, targets, upstream = inputs()
    logprobs, entropy = token_logprobs(hidden, weight, targets, temperature, chunk)
    found = torch.autograd.grad(logprobs, (hidden, weight), upstream)
    expected_logprobs, expected_entropy = full(hidden, weight, targets, temperature)
    expected = torch.autograd.grad(expected_logprobs, (hidden, weight), upstream)
    torch.testing.assert_close(logprobs, expected_logprobs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(entropy, expected_entropy, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_the_entropy_is_a_constant_and_greedy_is_scored_at_one() -> None:
    hidden, weight, targets, _ = inputs()
    logprobs, entropy = token_logprobs(hidden, weight, targets, temperature=0.0)
    assert logprobs.requires_grad and not entropy.requires_grad
    torch.testing.assert_close(logprobs, token_logprobs(hidden, weight, targets, 1.0)[0])


def test_a_peaked_distribution_has_finite_entropy() -> None:
    hidden, weight, targets, _ = inputs()
    logprobs, entropy = token_logprobs(hidden * 1e4, weight, targets, 1.0)
    assert torch.isfinite(logprobs).all() and torch.isfinite(entropy).all()
    assert entropy.min() >= 0


def test_bfloat16_inputs_give_float32_logprobs() -> None:
    hidden, weight, targets, upstream = inputs()
    halves = [tensor.detach().bfloat16().requires_grad_() for tensor in (hidden, weight)]
    logprobs, _ = token_logprobs(halves[0], halves[1], targets)
    grads = torch.autograd.grad(logprobs, halves, upstream)
    assert logprobs.dtype == torch.float32 and grads[1].dtype == torch.bfloat16
    torch.testing.assert_close(logprobs, full(hidden, weight, targets, 1.0)[0], atol=0.2, rtol=0.05)


def test_no_tokens() -> None:
    hidden, weight, _, _ = inputs()
    logprobs, entropy = token_logprobs(hidden[:0], weight, torch.zeros(0, dtype=torch.int64))
    assert logprobs.shape == entropy.shape == (0,)


class LargestTensor(TorchDispatchMode):
    """Remembers the size of the largest tensor that any operation returned."""

    num_elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.num_elements = max(self.num_elements, leaf.numel())
        return result


def test_only_a_chunk_of_logits_exists_in_both_passes() -> None:
    hidden, weight, targets, upstream = inputs(num_tokens=300, size=8, vocab=400)
    with LargestTensor() as forward:
        logprobs, _ = token_logprobs(hidden, weight, targets, chunk_tokens=10)
    with LargestTensor() as backward:
        logprobs.backward(upstream)
    assert forward.num_elements == backward.num_elements == 10 * 400
    assert hidden.grad is not None and weight.grad is not None
