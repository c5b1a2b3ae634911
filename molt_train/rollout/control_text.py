"""Turns rendered text into ids, so that somebody's text cannot pose as a control token.

In: a tokenizer, and text in which the names of control tokens were hidden. Out: ids; a hidden name is spelled
out in ordinary tokens.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence

from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

_OPEN, _SHUT = "\ue000", "\ue001"
_SLOT = re.compile(f"{_OPEN}(\\d+){_SHUT}")


class ControlText:
    """Hides control tokens' names in text and encodes what a template made of it.

    Args:
        tokenizer: a fast one.
        template: the chat template; an added token that it writes is a control token too, even when the
            tokenizer does not call it special.
        name: how errors call the tokenizer.

    Raises:
        ValueError: the tokenizer is not backed by the `tokenizers` library.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, template: str, name: str) -> None:
        if not isinstance(tokenizer, PreTrainedTokenizerFast):
            raise ValueError(
                f"{name} has a tokenizer without a fast form ({type(tokenizer).__name__}); save it with a "
                "tokenizer.json first"
            )
        # A copy of our own: calls of the tokenizer itself set truncation and padding on its backend.
        self._backend = copy.deepcopy(tokenizer.backend_tokenizer)
        self._backend.no_truncation()
        self._backend.no_padding()
        added = list(tokenizer.added_tokens_decoder.values())
        special = [token.content for token in added if token.special]
        written = [token.content for token in added if not token.special and token.content in template]
        self.special = _any_of(special)
        self._names = [_OPEN, *special, *(text for text in written if text.strip())]
        self._index = {text: index for index, text in enumerate(self._names)}
        self._controls = _any_of(self._names)
        self._special_or_mark = _any_of([_OPEN, *special])

    @property
    def fingerprint(self) -> str:
        """Everything that decides about ids, as text."""
        return self._backend.to_str()

    def hide(self, text: str, own: bool = False) -> str:
        """`text` with marks for control tokens' names; in the policy's `own` text only for special ones."""
        pattern = self._special_or_mark if own else self._controls
        if pattern.search(text) is None:
            return text
        return pattern.sub(lambda match: f"{_OPEN}{self._index[match.group()]}{_SHUT}", text)

    def hide_within(self, value: object, own: bool = False) -> object:
        """A JSON value with every string in it hidden."""
        if isinstance(value, str):
            return self.hide(value, own)
        if isinstance(value, Mapping):
            return {self.hide(str(key), own): self.hide_within(item, own) for key, item in value.items()}
        if isinstance(value, Sequence):
            return [self.hide_within(item, own) for item in value]
        return value

    def encode(self, text: str) -> list[int]:
        """Ids of rendered text: names in it are control tokens, hidden ones are spelled out."""
        if _OPEN not in text:
            return self._backend.encode(text, add_special_tokens=False).ids
        ids: list[int] = []
        for place, piece in enumerate(_SLOT.split(text)):
            pieces = _spelled(self._names[int(piece)]) if place % 2 else (piece,)
            for part in pieces:
                ids += self._backend.encode(part, add_special_tokens=False).ids
        return ids


def _spelled(name: str) -> tuple[str, str]:
    """A name cut after its first character, so that neither part is a token of its own accord."""
    return name[:1], name[1:]


def _any_of(names: Sequence[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) if names else r"(?!)")
