"""Renders conversations with a Hugging Face chat template, token-first.

In: messages and tools. Out: prompt ids, ids to append, and messages parsed from sampled ids. What a policy
sampled is never encoded again: a turn's continuation is cut out of the template's text and only that is
encoded.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from transformers import PreTrainedTokenizerBase

from molt_envs import Message, Role, ToolSchema
from molt_train.rollout.control_text import ControlText
from molt_train.rollout.template_probe import TemplateShape, find_bridge, probe_template, shows_role
from molt_train.rollout.tool_formats import CallFormat, parameter_types
from molt_train.rollout.tool_probe import probe_tools, written_answer

_REASONING = re.compile(r"\A\s*(?:<think>)?(.*?)</think>\s*", re.DOTALL)
_EMPTY_REASONING = re.compile(r"\A\s*(?:<think>)?\s*</think>\s*")
_TAGS_WITH_MEANING = re.compile(r"think>|tool_response>")
"""Templates look for these in messages; a text that holds one is rendered in its whole conversation."""


class ChatRenderer:
    """Implements `molt_envs.Renderer` on a tokenizer's chat template.

    Args:
        tokenizer: a fast one, with a chat template unless `template` is given.
        name: how errors call the template; the tokenizer's path by default.
        template: used in place of the tokenizer's own.
        tools: those that will be offered; their schemas tell `1` from `"1"` in calls without quotes.
        observation_role: the role in which observations will be shown.

    Raises:
        ValueError: no template, or one that cannot be followed token by token, has no tools or no such role;
            the message names it and the reason.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        name: str = "",
        template: str | None = None,
        tools: Sequence[ToolSchema] = (),
        observation_role: Role = "user",
    ) -> None:
        self._tokenizer = tokenizer
        self._name = name or str(tokenizer.name_or_path or "tokenizer")
        self._template: Any = template or tokenizer.chat_template
        if not self._template:
            raise ValueError(
                f"{self._name} has no chat template, so a conversation cannot be rendered; use an "
                "instruct model, or put a chat_template.jinja beside its tokenizer"
            )
        self._text = ControlText(tokenizer, str(self._template), self._name)
        self._in_parts = False
        self._shape = self._probe()
        self._bridges = {role: find_bridge(self._render, self._shape, role) for role in ("user", "tool")}
        self._has_tool_role = shows_role(self._render, self._shape, "tool")
        self._calls = probe_tools(self._render, self._shape)
        self._types = parameter_types(tuple(tools))
        self._check_used([Message(observation_role, "")], tools)
        self._end_ids = self._text.encode(self._shape.end)
        digest = hashlib.blake2b(json.dumps([self._template, self._text.fingerprint]).encode())
        self.renderer_id = f"chat-v2/{digest.hexdigest()[:16]}"
        eos_ids = [] if tokenizer.eos_token is None else self._text.encode(str(tokenizer.eos_token))
        self.stop_ids: tuple[int, ...] = tuple(dict.fromkeys([*self._end_ids, *eos_ids[-1:]]))
        self.vocab_size = len(tokenizer)

    @property
    def tool_format(self) -> str | None:
        """Name of the form in which the template writes tool calls; None when tools cannot be used."""
        return self._calls.name if isinstance(self._calls, CallFormat) else None

    def encode(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> list[int]:
        """See `Renderer.encode`: the template's own render; a control token's name in a text is spelled out.

        Raises:
            ValueError: tools or a role that the template has not.
        """
        self._check_used(messages, tools)
        return self._text.encode(self._render(messages, tools, generate=True))

    def extend(
        self,
        messages: Sequence[Message],
        sampled_ids: Sequence[int],
        new_messages: Sequence[Message],
        tools: Sequence[ToolSchema] = (),
    ) -> list[int] | None:
        """See `Renderer.extend`; None when the template changes what it wrote before."""
        text = self._bridged(messages, new_messages, tools)
        if text is None:
            self._check_used(new_messages, tools)
            before = self._render(messages[:-1], tools, generate=True)
            text = self._after_answer(
                self._render([*messages, *new_messages], tools, generate=True), before, messages[-1]
            )
        if text is None:
            return None
        ids = self._text.encode(text)
        return ids[1:] if sampled_ids and sampled_ids[-1] in self.stop_ids else ids

    def parse(self, token_ids: Sequence[int]) -> Message:
        """See `Renderer.parse`: thinking and tool calls are taken out, what is malformed stays text."""
        ids = list(token_ids)
        while ids and ids[-1] in self.stop_ids:
            ids.pop()
        text = str(self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))
        reasoning: str | None = None
        if match := _REASONING.match(text):
            reasoning, text = match.group(1).strip() or None, text[match.end() :]
        text = text.removeprefix(self._shape.lead)
        if not isinstance(self._calls, CallFormat):
            return Message("assistant", text, reasoning=reasoning)
        text, calls = self._calls.split(text, self._types)
        return Message("assistant", text, reasoning=reasoning, tool_calls=calls)

    def write(self, message: Message) -> list[int]:
        """See `Renderer.write`: what the template itself writes for `message` after a generation prompt.

        Raises:
            ValueError: tool calls that the template cannot write.
        """
        if message.tool_calls:
            self._check_used([], ({},))
        return [*self._text.encode(self._written(message)), *self._end_ids]

    def _written(self, message: Message) -> str:
        """The template's text for an answer in the middle of a conversation, else at its end; without tool
        calls, where it writes neither after the prompt, in the usual form."""
        question = [Message("user", "question")]
        prompt = self._render(question, generate=True)
        following = Message("tool" if message.tool_calls else "user", "next")
        for chat in ([*question, message, following], [*question, message]):
            text = written_answer(self._render(chat, generate=len(chat) > 2), prompt, self._shape)
            if text is not None and _squeezed(self._spoken(message)) == _squeezed(self._said(text, message)):
                return text
        return self._spoken(message) + (self._written_calls(message) if message.tool_calls else "")

    def _written_calls(self, message: Message) -> str:
        """The template's text for the calls alone; some templates write it only behind a thought."""
        question, result = Message("user", "question"), Message("tool", "next")
        prompt = self._render([question], generate=True)
        for thought in (None, "thought"):
            bare = replace(message, text="", reasoning=thought)
            text = written_answer(self._render([question, bare, result], generate=True), prompt, self._shape)
            if text is not None:
                return _REASONING.sub("", text)
        raise ValueError(f"the chat template of {self._name} writes no tool call after its generation prompt")

    def _said(self, text: str, message: Message) -> str:
        """`text` without its tool calls and, for a message without reasoning, without an empty `<think>`."""
        if isinstance(self._calls, CallFormat) and message.tool_calls:
            text = self._calls.split(text, self._types)[0]
        if message.reasoning is None and not self._shape.opens_thinking:
            text = _EMPTY_REASONING.sub("", text)
        return text

    def _bridged(
        self, messages: Sequence[Message], new_messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> str | None:
        """The text from the answer's end on, if the template is known to write the same in every plain
        conversation; None otherwise."""
        new, role = new_messages[0], new_messages[0].role
        bridge = self._bridges.get(role)
        if bridge is None or tools or len(new_messages) != 1 or _TAGS_WITH_MEANING.search(new.text):
            return None
        turns = messages[1:] if messages[0].role == "system" else messages
        for index, message in enumerate(turns):
            expected = "assistant" if index % 2 else role if index else "user"
            if message.role != expected or message.reasoning is not None or message.tool_calls:
                return None
            if index % 2 and _TAGS_WITH_MEANING.search(message.text):
                return None
        return None if len(turns) % 2 else bridge.around(self._text.hide(new.text))

    def _after_answer(self, text: str, before: str, answer: Message) -> str | None:
        """What stands in `text` from the end of the answer on; None when prompt or answer are not as they
        were."""
        written = written_answer(text, before, self._shape)
        if written is None:
            return None
        spoken = self._spoken(self._hidden(answer))
        if not _squeezed(written).startswith(_squeezed(spoken)):
            return None
        return text[len(before) + len(written) :]

    def _spoken(self, message: Message) -> str:
        """Reasoning and text as a policy writes them after the generation prompt."""
        if message.reasoning is None and not self._shape.opens_thinking:
            return self._shape.lead + message.text
        opening = "" if self._shape.opens_thinking else "<think>\n"
        return f"{opening}{message.reasoning or ''}\n</think>\n\n{message.text}"

    def _check_used(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        if tools and not isinstance(self._calls, CallFormat):
            raise ValueError(
                f"the chat template of {self._name} cannot be used with tools: {self._calls}; use a model "
                "whose template has them, or an environment without tools"
            )
        if not self._has_tool_role and any(message.role == "tool" for message in messages):
            raise ValueError(
                f"the chat template of {self._name} has no turn for the role 'tool'; "
                "show observations in the role 'user'"
            )

    def _probe(self) -> TemplateShape:
        """The template's shape with texts as strings, or else as lists of parts."""
        specials = self._text.special
        try:
            return probe_template(self._render, specials, self._name)
        except ValueError:
            self._in_parts = True
            try:
                return probe_template(self._render, specials, self._name)
            except ValueError:
                self._in_parts = False
        return probe_template(self._render, specials, self._name)

    def _hidden(self, message: Message) -> Message:
        own = message.role == "assistant"
        reasoning = None if message.reasoning is None else self._text.hide(message.reasoning, own)
        return replace(message, text=self._text.hide(message.text, own), reasoning=reasoning)

    def _render(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema] = (), generate: bool = False
    ) -> str:
        chat: list[Any] = []
        for message in map(self._hidden, messages):
            shown = message.to_chat()
            if message.tool_calls:
                shown["tool_calls"] = self._text.hide_within(shown["tool_calls"], own=True)
            if self._in_parts:
                shown["content"] = [{"type": "text", "text": message.text}]
            chat.append(shown)
        offered: Any = self._text.hide_within(list(tools)) or None
        return str(
            self._tokenizer.apply_chat_template(
                chat,
                tools=offered,
                chat_template=self._template,
                add_generation_prompt=generate,
                tokenize=False,
            )
        )


def _squeezed(text: str) -> str:
    return "".join(text.split())
