"""Finds out, with trial conversations, whether a chat template can be followed token by token.

In: a function that renders messages to text. Out: how the template ends and opens a turn, or a refusal by
name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from jinja2.exceptions import TemplateError

from molt_envs import Message, ToolSchema

_SYSTEM, _USER, _ANSWER, _NEXT = (f"probe{name}text" for name in ("system", "user", "answer", "next"))
_THINKING = re.compile(r"</?think>|\s")


class Render(Protocol):
    """Messages to the template's text."""

    def __call__(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema] = (), generate: bool = False
    ) -> str: ...


@dataclass(frozen=True)
class TemplateShape:
    """What a renderer needs to know of a template."""

    end: str
    """The control token that ends an assistant's turn."""
    opens_thinking: bool
    """The generation prompt ends inside a `<think>` block that the policy has to close."""


def probe_template(render: Render, specials: re.Pattern[str], name: str) -> TemplateShape:
    """Look at how the template writes an answer at the end and in the middle of a conversation.

    Args:
        render: the template.
        specials: matches the tokenizer's control tokens.
        name: how errors call the template.

    Raises:
        ValueError: the template refuses an ordinary conversation, writes anything but thinking between its
        generation
            prompt and the answer, or ends a turn without a control token of its own.
    """
    opening = [Message("system", _SYSTEM), Message("user", _USER)]
    answered = [*opening, Message("assistant", _ANSWER)]
    try:
        prompt = render(opening, generate=True)
        closed = render(answered)
        longer = render([*answered, Message("user", _NEXT)], generate=True)
    except (TemplateError, ValueError, TypeError) as error:
        raise ValueError(
            f"the chat template of {name} cannot render a plain conversation: {error}"
        ) from error
    for text, parts in ((prompt, (_USER,)), (closed, (_USER, _ANSWER)), (longer, (_USER, _ANSWER, _NEXT))):
        for part in parts:
            if part not in text:
                raise ValueError(f"the chat template of {name} leaves out text that it is given ({part!r})")
    opened = prompt[prompt.rindex(_USER) :]
    for text in (closed, longer):
        written = text[text.index(_USER) : text.index(_ANSWER)]
        if _THINKING.sub("", written) != _THINKING.sub("", opened):
            raise ValueError(
                f"the chat template of {name} writes {written[len(_USER) :]!r} before an answer, but its "
                f"generation prompt is {opened[len(_USER) :]!r}: sampled ids cannot stand where the answer "
                "would"
            )
    ends = [specials.match(text, text.index(_ANSWER) + len(_ANSWER)) for text in (closed, longer)]
    if ends[0] is None or ends[1] is None or ends[0].group() != ends[1].group():
        raise ValueError(
            f"the chat template of {name} has no control token that always ends an answer: it goes on with "
            f"{closed[closed.index(_ANSWER) + len(_ANSWER) :][:30]!r} at the end of a conversation and with "
            f"{longer[longer.index(_ANSWER) + len(_ANSWER) :][:30]!r} in the middle"
        )
    return TemplateShape(ends[0].group(), prompt.rstrip().endswith("<think>"))
