"""Runs a transformers model over a slot cache: pre-fills prompts in padded batches, decodes rows together.

In: `Turn`s with their slots. Out: the same turns with sampled ids appended. Synchronous; one thread calls it.
Shapes: S slots, B rows, T new tokens a row (padded on the left), L tokens that attention sees, V ids.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from transformers import PreTrainedModel

from molt_train.rollout.kv_cache import SlotCache
from molt_train.rollout.sampler import ban, sample
from molt_train.rollout.turn import Turn

_LENGTH_STEP = 32
_LARGEST_PADDING_SHARE = 0.3
_SPARSE_SHARE = 1 / 3


class SlotDecoder:
    """The compute of the engine; it knows nothing of sessions, waiting or threads.

    Args:
        model: a decoder-only language model; its weights are read in place.
        num_slots: rows of the cache.
        num_tokens: most tokens of a prompt and its turn.
        autocast_dtype: compute in this type by autocast; None computes in the model's own.
        max_forward_tokens: most tokens of one forward, padding included; longer prompts go in pieces.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        num_slots: int,
        num_tokens: int,
        autocast_dtype: torch.dtype | None = None,
        max_forward_tokens: int = 2048,
    ) -> None:
        self._model = model
        self._device = model.device
        self._autocast_dtype = autocast_dtype
        self._max_forward_tokens = max_forward_tokens
        self._cache = SlotCache(num_slots, num_tokens, autocast_dtype or model.dtype)
        self._stride = self._cache.row_stride
        mask_dtype = autocast_dtype or model.dtype
        self._bias_SL = torch.full(
            (num_slots, self._stride), -torch.inf, dtype=mask_dtype, device=self._device
        )
        self._bias_SL[:, 0] = 0
        self._tokens_S = torch.zeros(num_slots, dtype=torch.int64, device=self._device)
        self._positions_S = torch.zeros_like(self._tokens_S)
        self._active_S = torch.zeros_like(self._tokens_S)
        self._nowhere_S = torch.arange(num_slots, device=self._device) * self._stride + self._stride - 1
        self._places_S = self._nowhere_S.clone()
        self._arange_L = torch.arange(self._stride, device=self._device)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Evaluation mode, no gradients, autocast if asked for."""
        was_training = self._model.training
        if was_training:
            self._model.eval()
        enabled = self._autocast_dtype is not None
        try:
            # Under inference_mode autocast keeps no casts of weights, so it never hands one to the learner.
            with (
                torch.inference_mode(),
                torch.autocast(self._device.type, self._autocast_dtype, enabled=enabled),
            ):
                yield
        finally:
            if was_training:
                self._model.train()

    def prefill(self, turns: Sequence[Turn], policy_version: int) -> None:
        """Compute what is known from `num_cached` on and sample the next id of each turn."""
        todo = sorted(turns, key=lambda turn: (-_num_new(turn), turn.row))
        while todo:
            batch, todo = self._next_batch(todo)
            unfinished = self._prefill_batch(batch, policy_version)
            todo = sorted([*todo, *unfinished], key=lambda turn: (-_num_new(turn), turn.row))

    def step(self, turns: Sequence[Turn], policy_version: int) -> None:
        """Sample one more id for each of these turns; all have been pre-filled and none is done."""
        slots = [turn.row for turn in turns]
        length = self._rounded(max(turn.num_tokens for turn in turns))
        low, high = min(slots), max(slots) + 1
        rows: slice | torch.Tensor = slice(low, high)
        chosen = [slot - low for slot in slots]
        if len(slots) < _SPARSE_SHARE * (high - low):
            rows, chosen = torch.tensor(slots, device=self._device), list(range(len(slots)))
        positions = self._positions_S[rows]
        places = self._places_S[rows] + positions
        self._bias_SL.view(-1)[places] = 0
        self._cache.aim(places[:, None], rows, length)
        bias = self._bias_SL[rows, None, None, :length]
        logits = self._forward(self._tokens_S[rows, None], positions[:, None], bias)
        if chosen != list(range(len(logits))):
            logits = logits[chosen]
        self._positions_S += self._active_S
        self._sample(turns, logits, policy_version)

    def release(self, slot: int) -> None:
        """The slot's turn is over: its row no longer decodes. What is cached stays."""
        self._active_S[slot] = 0
        self._positions_S[slot] = 0
        self._tokens_S[slot] = 0
        self._places_S[slot] = self._nowhere_S[slot]

    def _next_batch(self, todo: list[Turn]) -> tuple[list[Turn], list[Turn]]:
        """The longest rows that fit into one forward without too much padding, and the rest."""
        longest = min(_num_new(todo[0]), self._max_forward_tokens)
        size = 1
        while (
            size < len(todo)
            and (size + 1) * longest <= self._max_forward_tokens
            and _num_new(todo[size]) >= (1 - _LARGEST_PADDING_SHARE) * longest
        ):
            size += 1
        return todo[:size], todo[size:]

    def _prefill_batch(self, batch: list[Turn], policy_version: int) -> list[Turn]:
        """One padded forward; gives the turns that go on beyond it."""
        width = min(_num_new(batch[0]), self._max_forward_tokens)
        starts = np.array([turn.num_cached for turn in batch])
        counts = np.array([min(_num_new(turn), width) for turn in batch])
        slots = np.array([turn.row for turn in batch])
        ids = np.zeros((len(batch), width), dtype=np.int64)
        for row, turn in enumerate(batch):
            ids[row, width - counts[row] :] = turn.known_ids[starts[row] : starts[row] + counts[row]]
        offsets = np.arange(width)[None, :] - (width - counts)[:, None]
        positions = np.where(offsets >= 0, starts[:, None] + offsets, 0)
        places = slots[:, None] * self._stride + np.where(offsets >= 0, positions, self._stride - 1)
        length = self._rounded(int((starts + counts).max()))
        positions_BT = torch.from_numpy(positions).to(self._device)
        hidden_BTL = self._arange_L[:length] > positions_BT[:, :, None]
        bias = torch.zeros(hidden_BTL.shape, dtype=self._bias_SL.dtype, device=self._device)
        bias.masked_fill_(hidden_BTL, -torch.inf)
        rows = torch.from_numpy(slots).to(self._device)
        self._cache.aim(torch.from_numpy(places).to(self._device), rows, length)
        logits = self._forward(torch.from_numpy(ids).to(self._device), positions_BT, bias[:, None])
        for turn, count in zip(batch, counts.tolist(), strict=True):
            turn.num_cached += count
        ready = [row for row, turn in enumerate(batch) if _num_new(turn) == 0]
        unfinished = [turn for turn in batch if _num_new(turn) > 0]
        if ready:
            first = [batch[row] for row in ready]
            for turn in first:
                self._activate(turn)
            self._sample(first, logits if len(ready) == len(batch) else logits[ready], policy_version)
        return unfinished

    def _activate(self, turn: Turn) -> None:
        position = turn.num_tokens
        self._active_S[turn.row] = 1
        self._positions_S[turn.row] = position
        self._places_S[turn.row] = turn.row * self._stride
        self._bias_SL[turn.row, :position] = 0
        self._bias_SL[turn.row, position:] = -torch.inf

    def _forward(self, ids_BT: torch.Tensor, positions_BT: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """Logits [B, V] of the last token of each row."""
        output = self._model(
            input_ids=ids_BT,
            attention_mask=bias,
            position_ids=positions_BT,
            cache=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1]

    def _sample(self, turns: Sequence[Turn], logits_BV: torch.Tensor, policy_version: int) -> None:
        ban(logits_BV, [turn.sampling.banned_ids for turn in turns])
        temperatures = [turn.sampling.temperature for turn in turns]
        ids, logprobs = sample(logits_BV, temperatures, [turn.next_uniform() for turn in turns])
        self._tokens_S[[turn.row for turn in turns]] = ids
        for turn, token_id, logprob in zip(turns, ids.tolist(), logprobs.tolist(), strict=True):
            if not math.isfinite(logprob):
                raise FloatingPointError(
                    f"the model's logits gave a logprob of {logprob}; are its weights finite?"
                )
            turn.add(token_id, logprob, policy_version)

    def _rounded(self, length: int) -> int:
        return min(-(-length // _LENGTH_STEP) * _LENGTH_STEP, self._cache.num_tokens)


def _num_new(turn: Turn) -> int:
    return turn.num_tokens - turn.num_cached
