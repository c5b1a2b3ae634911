"""How the losses of a step's tokens become one number: one weight per token, so that it is Σ weight · loss.

In: episode and group of each token of an optimizer step. Out: weights, computed once over all of them;
a sum over any split into micro-batches or ranks is then the same number with the same gradient.
Shapes: N trained tokens of the optimizer step.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

Aggregation = Literal[
    "token_mean",
    "seq_mean_token_mean",
    "seq_mean_token_sum",
    "seq_mean_token_sum_norm",
    "prompt_mean_token_mean",
]
AGGREGATIONS: tuple[str, ...] = get_args(Aggregation)
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


def aggregation_weights(kind: Aggregation, sequence_N: Ints, prompt_N: Ints, norm_tokens: int) -> Floats:
    """The weight of each token.

    Args:
        kind: see docs/algorithms.md.
        sequence_N: the episode of each token, any integers.
        prompt_N: the group of each token, any integers.
        norm_tokens: constant length of `seq_mean_token_sum_norm`.
    """
    num_tokens = len(sequence_N)
    if num_tokens == 0:
        return np.zeros(0)
    tokens_of_sequence_N, num_sequences = _sizes(sequence_N)
    match kind:
        case "token_mean":
            return np.full(num_tokens, 1.0 / num_tokens)
        case "seq_mean_token_mean":
            return 1.0 / (num_sequences * tokens_of_sequence_N)
        case "seq_mean_token_sum":
            return np.full(num_tokens, 1.0 / num_sequences)
        case "seq_mean_token_sum_norm":
            return np.full(num_tokens, 1.0 / (num_sequences * norm_tokens))
        case "prompt_mean_token_mean":
            tokens_of_prompt_N, num_prompts = _sizes(prompt_N)
            return 1.0 / (num_prompts * tokens_of_prompt_N)


def _sizes(members_N: Ints) -> tuple[Floats, int]:
    """For each token how many tokens its set has, and how many sets there are."""
    _, index_N, counts = np.unique(members_N, return_inverse=True, return_counts=True)
    return counts[index_N].astype(np.float64), len(counts)
