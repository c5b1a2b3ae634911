"""A static cache of keys and values with one row for each running episode, in the form transformers' models call.

In: keys and values of new tokens with the places where they belong. Out: the rows' keys and values up to a length.
Shapes: S slots, L tokens a slot, B rows of a forward, T new tokens a row, H key/value heads, D head size.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import Cache


class SlotCache(Cache):
    """Holds `num_slots` rows of `num_tokens` tokens, and one more place per row for what nobody reads.

    `aim` says where the next forward writes and which rows it reads; then the model calls `update` in each layer.
    The mask and the position ids are the caller's, so nothing here counts tokens.

    Args:
        num_slots: rows.
        num_tokens: tokens a row.
        dtype: of the stored values; under autocast the lower type, or attention would convert the cache at each step.
    """

    def __init__(self, num_slots: int, num_tokens: int, dtype: torch.dtype) -> None:
        super().__init__(layers=[])
        self.num_slots = num_slots
        self.num_tokens = num_tokens
        self.row_stride = num_tokens + 1
        self._dtype = dtype
        self._keys: list[torch.Tensor] = []
        self._values: list[torch.Tensor] = []
        self._write_index = torch.empty(0, dtype=torch.int64)
        self._rows: slice | torch.Tensor = slice(0, 0)
        self._length = 0

    def aim(self, write_index: torch.Tensor, rows: slice | torch.Tensor, length: int) -> None:
        """Set up one forward.

        Args:
            write_index: int64 [B*T], `slot * row_stride + position` of each new token, row by row.
            rows: the slots of the B rows; a slice is read in place, an index is copied.
            length: tokens of each row that attention sees.
        """
        self._write_index = write_index
        self._rows = rows
        self._length = length

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store [B, H, T, D] keys and values of one layer; gives that layer's [B, H, length, D]."""
        if layer_idx == len(self._keys):
            self._keys.append(self._allocate(key_states))
            self._values.append(self._allocate(value_states))
        return self._exchange(self._keys[layer_idx], key_states), self._exchange(
            self._values[layer_idx], value_states
        )

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Tokens that attention sees in the forward that was aimed."""
        return self._length

    def _allocate(self, states: torch.Tensor) -> torch.Tensor:
        # Zeros, since what is masked still takes part as 0 * value, and NaN would spread.
        shape = (self.num_slots, self.row_stride, states.shape[1], states.shape[3])
        return torch.zeros(shape, dtype=self._dtype, device=states.device)

    def _exchange(self, stored: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        new = states.transpose(1, 2).to(self._dtype)
        stored.view(-1, *stored.shape[2:]).index_copy_(0, self._write_index, new.flatten(0, 1))
        return stored[self._rows, : self._length].transpose(1, 2)
