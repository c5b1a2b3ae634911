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

from molt_envs import Message, Role, ToolSchema

_SYSTEM, _USER, _ANSWER, _NEXT = (f"probe{name}text" for name in ("system", "user", "answer", "next"))
_THINKING = re.compile(r"</?think>|\s")
RENDER_ERRORS = (TemplateError, ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What a template may raise on a conversation that it was not written for."""


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
    opening: str
    """The generation prompt."""
    lead: str
    """Blanks that the template writes between the generation prompt and an answer; the policy samples
    them."""


@dataclass(frozen=True)
class Bridge:
    """What a template writes around an observation, where that depends on nothing else."""

    before: str
    """From the end token of the answer up to the observation."""
    after: str
    """From the observation up to where the policy writes."""
    strips: bool
    """The template strips the observation."""

    def around(self, text: str) -> str:
        """From the answer's end token to the next generation prompt."""
        return f"{self.before}{text.strip() if self.strips else text}{self.after}"


def probe_template(render: Render, specials: re.Pattern[str], name: str) -> TemplateShape:
    """Look at how the template writes an answer at the end and in the middle of a conversation.

    Args:
        render: the template.
        specials: matches the tokenizer's control tokens.
        name: how errors call the template.

    Raises:
        ValueError: the template refuses an ordinary conversation, writes anything but thinking between its
            generation prompt and the answer, or ends a turn without a control token of its own.
    """
    opening = [Message("system", _SYSTEM), Message("user", _USER)]
    answered = [*opening, Message("assistant", _ANSWER)]
    try:
        asked = render(opening)
        prompt = render(opening, generate=True)
        closed = render(answered)
        longer = render([*answered, Message("user", _NEXT)], generate=True)
    except RENDER_ERRORS as error:
        raise ValueError(
            f"the chat template of {name} cannot render a plain conversation: {error}"
        ) from error
    for text, parts in ((prompt, (_SYSTEM, _USER)), (longer, (_SYSTEM, _USER, _ANSWER, _NEXT))):
        for part in parts:
            if part not in text:
                raise ValueError(f"the chat template of {name} leaves out text that it is given ({part!r})")
    opened = prompt[prompt.rindex(_USER) :]
    for text in (closed, longer):
        written = text[text.index(_USER) : text.index(_ANSWER)]
        if _THINKING.sub("", written) != _THINKING.sub("", opened):
            raise ValueError(
                f"the chat template of {name} writes more than thinking before an answer: its generation "
                f"prompt is {opened[len(_USER) :]!r}, but an answer comes after {written[len(_USER) :]!r}; "
                "sampled ids cannot stand where the answer would"
            )
    ends = [specials.match(text, text.index(_ANSWER) + len(_ANSWER)) for text in (closed, longer)]
    if ends[0] is None or ends[1] is None or ends[0].group() != ends[1].group():
        raise ValueError(
            f"the chat template of {name} has no control token that always ends an answer: it goes on with "
            f"{closed[closed.index(_ANSWER) + len(_ANSWER) :][:30]!r} at the end of a conversation and with "
            f"{longer[longer.index(_ANSWER) + len(_ANSWER) :][:30]!r} in the middle"
        )
    generation = prompt[len(asked) :] if prompt.startswith(asked) else ""
    lead = longer[len(prompt) : longer.index(_ANSWER)] if longer.startswith(prompt) else ""
    thinks = prompt.rstrip().endswith("<think>")
    return TemplateShape(ends[0].group(), thinks, generation, "" if lead.strip() else lead)


def shows_role(render: Render, shape: TemplateShape, role: Role) -> bool:
    """Whether an observation in `role` after a plain answer is shown and followed by the generation
    prompt."""
    chat = [Message("user", _USER), Message("assistant", _ANSWER), Message(role, _NEXT)]
    try:
        text = render(chat, generate=True)
    except RENDER_ERRORS:
        return False
    return _NEXT in text and text.endswith(shape.opening)


def find_bridge(render: Render, shape: TemplateShape, role: Role) -> Bridge | None:
    """The pieces that the template writes around an observation in `role`, if they are the same in every
    trial: with and without a system prompt, in each of four turns, for texts with blanks at their ends."""
    bridge: Bridge | None = None
    try:
        for opening in ([Message("system", _SYSTEM), Message("user", _USER)], [Message("user", _USER)]):
            chat = list(opening)
            for turn in range(4):
                answer = f"{_ANSWER}{turn}" if turn % 2 else f" {_ANSWER}{turn} \n"
                prompt = render(chat, generate=True)
                chat.append(Message("assistant", answer))
                for text in (f"{_NEXT}{turn}", f" \n{_NEXT} {turn}\n\n"):
                    longer = render([*chat, Message(role, text)], generate=True)
                    written, found, tail = longer.removeprefix(prompt).partition(shape.end)
                    if not longer.startswith(prompt) or written.strip() != answer.strip() or not found:
                        return None
                    bridge = bridge or _pieces(shape.end + tail, text)
                    fitting = bridge and _fitting(bridge, shape.end + tail, text)
                    if fitting is None:
                        return None
                    bridge = fitting
                chat.append(Message(role, f"{_NEXT}{turn}"))
    except RENDER_ERRORS:
        return None
    return bridge


def _pieces(tail: str, text: str) -> Bridge | None:
    before, found, after = tail.partition(text)
    return Bridge(before, after, strips=False) if found else None


def _fitting(bridge: Bridge, tail: str, text: str) -> Bridge | None:
    """`bridge`, perhaps stripping, if it gives `tail` for `text`."""
    if bridge.around(text) == tail:
        return bridge
    stripping = Bridge(bridge.before, bridge.after, strips=True)
    return stripping if text != text.strip() and stripping.around(text) == tail else None
