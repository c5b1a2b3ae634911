"""Samples to micro-batches: rows of right-padded segments, and flat lists of the tokens that are trained.

In: `Sample`s. Out: `MicroBatch`es, a function of the samples' order alone; or one learner process's part of
them, as many as every other's.
Shapes: B rows, T padded length, N trained tokens of the micro-batch.

A row holds one segment. Attention is causal and padding lies on the right, so no token sees padding and no
mask is needed. The shift by one between a token and the position that predicts it is here and nowhere
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from molt_train.algorithms.aggregate import Aggregation, aggregation_weights
from molt_train.data.samples import Sample

WIDTH_STEP = 64
"""What training rounds widths up to: matrix libraries keep code and buffers for every shape they meet."""


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """What one forward and backward pass needs. Row-major order of tokens everywhere."""

    token_ids_BT: Tensor
    """int64, padded on the right."""
    predictor_N: Tensor
    """int64 index into the flattened (B·T) positions: the position before the trained token."""
    targets_N: Tensor
    """int64 ids of the trained tokens."""
    rollout_logprobs_N: Tensor
    """float32, the engine's logprobs of these tokens."""
    advantages_N: Tensor
    """float32."""
    weights_N: Tensor
    """float32 aggregation weights: loss = Σ weight · loss over all micro-batches of the optimizer step."""
    sequence_N: Tensor
    """int64 number of the token's segment in the optimizer step."""
    num_tokens: int
    """Tokens without padding."""
    first_position: int = 0
    """Position in the sequence of the first column: above 0 in the later parts of split sequences."""


@dataclass(frozen=True)
class Part:
    """Which of the processes with sequences of their own this is."""

    number: int = 0
    """From 0."""
    count: int = 1
    """How many there are."""


WHOLE = Part()


def make_micro_batches(
    samples: Sequence[Sample],
    micro_batch_tokens: int,
    aggregate: Aggregation = "token_mean",
    norm_tokens: int = 1024,
    pad_id: int = 0,
    width_step: int = 1,
    part: Part = WHOLE,
) -> list[MicroBatch]:
    """Split one optimizer step's samples; no micro-batch exceeds `micro_batch_tokens`, padding included.

    Samples are taken longest first, those of equal length in their order; those without a trained token
    are left out. Widths are multiples of `width_step`, as far as the budget allows. For several processes
    the budget is lowered until neighbouring micro-batches are about equally full; they are dealt out in
    turn, and one that has nothing to do gets a row of padding.

    Raises:
        ValueError: a segment alone is longer than the budget.
    """
    used = [sample for sample in samples if sample.num_trained > 0]
    for sample in used:
        if len(sample.segment.token_ids) > micro_batch_tokens:
            raise ValueError(
                f"a segment of {len(sample.segment.token_ids)} tokens (episode {sample.episode} of the batch)"
                f" exceeds micro_batch_tokens = {micro_batch_tokens}; raise it to the context's size"
            )
    weights = _weights(used, aggregate, norm_tokens)
    order = sorted(range(len(used)), key=lambda index: -len(used[index].segment.token_ids))
    lengths = [len(used[index].segment.token_ids) for index in order]
    pieces = cut(lengths, micro_batch_tokens, width_step, part.count)
    batches: list[MicroBatch] = []
    for piece in pieces[part.number :: part.count]:
        rows = order[piece.first : piece.end]
        batches.append(
            _micro_batch([used[i] for i in rows], [weights[i] for i in rows], rows, piece.width, pad_id)
        )
    while len(batches) < -(-len(pieces) // part.count):
        batches.append(_nothing(width_step, pad_id))
    return batches


@dataclass(frozen=True)
class Piece:
    """A micro-batch before its rows are gathered."""

    first: int
    """Its first row, in the order of lengths."""
    end: int
    """Behind its last row."""
    width: int
    """Padded length of its rows."""


def cut(lengths: Sequence[int], most_tokens: int, width_step: int, count: int = 1) -> list[Piece]:
    """Cut rows, longest first, into pieces of at most `most_tokens`, padding included.

    With `count` above 1 the smallest budget is taken that needs no more rounds of `count` pieces.
    """
    pieces = _cut(lengths, most_tokens, width_step)
    if count == 1 or not pieces:
        return pieces
    most_pieces = -(-len(pieces) // count) * count
    low, high = 0, most_tokens
    while high - low > 1:
        middle = (low + high) // 2
        if len(_cut(lengths, middle, width_step)) <= most_pieces:
            high = middle
        else:
            low = middle
    return _cut(lengths, high, width_step)


def _cut(lengths: Sequence[int], most_tokens: int, width_step: int) -> list[Piece]:
    pieces: list[Piece] = []
    start = 0
    while start < len(lengths):
        width = -(-lengths[start] // width_step) * width_step
        if width > most_tokens >= lengths[start]:
            width = most_tokens
        end = min(start + max(1, most_tokens // width), len(lengths))
        pieces.append(Piece(start, end, width))
        start = end
    return pieces


def part_of_sequences(batch: MicroBatch, number: int, count: int) -> MicroBatch:
    """Part `number` of `count` equal parts of every row, with the tokens that its positions predict."""
    width = batch.token_ids_BT.shape[1]
    assert width % count == 0, f"rows of {width} tokens cannot be split into {count} equal parts"
    size = width // count
    row_N, column_N = batch.predictor_N // width, batch.predictor_N % width
    mine_N = column_N // size == number
    chosen = {
        name: values[mine_N]
        for name, values in vars(batch).items()
        if name.endswith("_N") and name != "predictor_N"
    }
    return MicroBatch(
        token_ids_BT=batch.token_ids_BT[:, number * size : (number + 1) * size].contiguous(),
        predictor_N=(row_N * size + column_N % size)[mine_N],
        num_tokens=batch.num_tokens if number == 0 else 0,
        first_position=number * size,
        **chosen,
    )


def _nothing(width: int, pad_id: int) -> MicroBatch:
    """For a process that must take part in a pass without a token of its own."""
    no_ids, no_values = torch.zeros(0, dtype=torch.int64), torch.zeros(0)
    return MicroBatch(
        torch.full((1, width), pad_id), no_ids, no_ids, no_values, no_values, no_values, no_ids, 0
    )


def _micro_batch(
    samples: Sequence[Sample], weights: Sequence[np.ndarray], numbers: Sequence[int], width: int, pad_id: int
) -> MicroBatch:
    token_ids_BT = np.full((len(samples), width), pad_id, dtype=np.int64)
    predictors: list[np.ndarray] = []
    for row, sample in enumerate(samples):
        token_ids_BT[row, : len(sample.segment.token_ids)] = sample.segment.token_ids
        predictors.append(row * width + np.flatnonzero(sample.trained_T) - 1)
    masks = [sample.trained_T for sample in samples]
    counts = [int(mask.sum()) for mask in masks]

    def gather(arrays: Sequence[np.ndarray], dtype: torch.dtype) -> Tensor:
        chosen = [array[mask] for array, mask in zip(arrays, masks, strict=True)]
        return torch.from_numpy(np.concatenate(chosen)).to(dtype)

    return MicroBatch(
        token_ids_BT=torch.from_numpy(token_ids_BT),
        predictor_N=torch.from_numpy(np.concatenate(predictors)),
        targets_N=gather([s.segment.token_ids for s in samples], torch.int64),
        rollout_logprobs_N=gather([s.segment.logprobs for s in samples], torch.float32),
        advantages_N=gather([s.advantages_T for s in samples], torch.float32),
        weights_N=torch.from_numpy(np.concatenate(weights)).to(torch.float32),
        sequence_N=torch.from_numpy(np.repeat(np.asarray(numbers, dtype=np.int64), counts)),
        num_tokens=sum(len(s.segment.token_ids) for s in samples),
    )


def _weights(samples: Sequence[Sample], aggregate: Aggregation, norm_tokens: int) -> list[np.ndarray]:
    """Each sample's aggregation weights, one per trained token, computed over all samples together."""
    if not samples:
        return []
    counts = [sample.num_trained for sample in samples]
    episodes = np.repeat(np.array([sample.episode for sample in samples]), counts)
    groups = np.repeat(np.array([sample.group for sample in samples]), counts)
    return np.split(aggregation_weights(aggregate, episodes, groups, norm_tokens), np.cumsum(counts)[:-1])
