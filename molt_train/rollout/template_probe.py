"""Finds out, with a few trial conversations, whether a chat template can be followed token by token.

In: a function that renders messages to text. Out: the text that ends an assistant's turn, or a refusal by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from jinja2.exceptions import TemplateError

from molt_envs import Message, ToolSchema

_SYSTEM, _USER, _ANSWER, _NEXT, _LAST = (f"probe{name}text" for name in ("system", "user", "answer", "next", "last"))


class Render(Protocol):
    """Messages to the template's text."""

    def __call__(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema] = (), generate: bool = False
    ) -> str: ...


def probe_template(render: Render, name: str) -> str:
    """The text that ends an assistant's turn: what follows the answer, up to and including the first `>`-like close.

    Raises:
        ValueError: the template refuses an ordinary conversation, writes something between its generation prompt and
            the answer, or does not close an answer the same way whether or not the conversation goes on.
    """
    opening = [Message("system", _SYSTEM), Message("user", _USER)]
    answered = [*opening, Message("assistant", _ANSWER)]
    try:
        prompt = render(opening, generate=True)
        closed = render(answered)
        longer = render([*answered, Message("user", _NEXT)], generate=True)
    except (TemplateError, ValueError, TypeError) as error:
        raise ValueError(f"the chat template of {name} cannot render a plain conversation: {error}") from error
    if not closed.startswith(prompt + _ANSWER):
        raise ValueError(
            f"the chat template of {name} does not write an answer right after its generation prompt, so sampled ids "
            f"cannot stand where it would put them (prompt ends {prompt[-40:]!r})"
        )
    ending = closed[len(prompt) + len(_ANSWER) :]
    rest = longer[len(prompt) + len(_ANSWER) :] if longer.startswith(prompt + _ANSWER) else ""
    common = _common_prefix(ending, rest).rstrip()
    if not common:
        raise ValueError(
            f"the chat template of {name} closes an answer with {ending!r} at the end of a conversation and otherwise "
            f"in the middle ({rest[:40]!r}); a turn's end must be the same"
        )
    return common


def _common_prefix(left: str, right: str) -> str:
    length = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    return left[:length]
