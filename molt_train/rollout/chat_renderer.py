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
from typing import Any

from transformers import PreTrainedTokenizerBase

from molt_envs import Message, ToolCall, ToolSchema, parse_call
from molt_train.rollout.template_probe import probe_template

_REASONING = re.compile(r"\A\s*(?:<think>)?(.*?)</think>\s*", re.DOTALL)
_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_CONTENT_SLOT = "\ue000{}\ue001"
_SLOT = re.compile("\ue000(\\d+)\ue001")


class ChatRenderer:
    """Implements `molt_envs.Renderer` on a tokenizer's chat template.

    Args:
        tokenizer: with a chat template.
        name: how errors call the template; the tokenizer's path by default.

    Raises:
        ValueError: no template, or one that cannot be followed token by token; the message names it and
        the reason.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, name: str = "") -> None:
        self._tokenizer = tokenizer
        self._name = name or str(tokenizer.name_or_path or "tokenizer")
        if not tokenizer.chat_template:
            raise ValueError(
                f"{self._name} has no chat template, so a conversation cannot be rendered; use an "
                "instruct model, or put a chat_template.jinja beside its tokenizer"
            )
        self._specials = _special_pattern(tokenizer)
        self._shape = probe_template(self._render, self._specials, self._name)
        self._end_ids = self._text_ids(self._shape.end)
        digest = hashlib.blake2b(
            json.dumps([tokenizer.chat_template, sorted(tokenizer.get_vocab().items())]).encode()
        )
        self.renderer_id = f"chat-v1/{digest.hexdigest()[:16]}"
        eos_ids = [] if tokenizer.eos_token is None else self._text_ids(str(tokenizer.eos_token))
        self.stop_ids: tuple[int, ...] = tuple(dict.fromkeys([*self._end_ids, *eos_ids[-1:]]))
        self.vocab_size = len(tokenizer)

    def encode(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> list[int]:
        """See `Renderer.encode`: the template's own render, unless a text holds a control token's name."""
        return self._safe_ids(messages, lambda shown: self._render(shown, tools, generate=True))

    def extend(
        self,
        messages: Sequence[Message],
        sampled_ids: Sequence[int],
        new_messages: Sequence[Message],
        tools: Sequence[ToolSchema] = (),
    ) -> list[int] | None:
        """See `Renderer.extend`; None when the template changes what it wrote before."""
        known, answer = messages[:-1], messages[-1]
        before = self._render(known, tools, generate=True)

        def tail(shown: Sequence[Message]) -> str | None:
            text = self._render([*known, answer, *shown], tools, generate=True)
            return self._after_answer(text, before, answer)

        if tail(new_messages) is None:
            return None
        ids = self._safe_ids(new_messages, lambda shown: tail(shown) or "")
        return ids[1:] if sampled_ids and sampled_ids[-1] in self.stop_ids else ids

    def _after_answer(self, text: str, before: str, answer: Message) -> str | None:
        """What stands in `text` from the end of the answer on; None when prompt or answer are not as they
        were."""
        if not text.startswith(before) or self._shape.end not in text[len(before) :]:
            return None
        end = text.index(self._shape.end, len(before))
        if not _squeezed(text[len(before) : end]).startswith(_squeezed(self._spoken(answer))):
            return None
        return text[end:]

    def _spoken(self, message: Message) -> str:
        """Reasoning and text as the policy writes them after the generation prompt."""
        if message.reasoning is None and not self._shape.opens_thinking:
            return message.text
        opening = "" if self._shape.opens_thinking else "<think>\n"
        return f"{opening}{message.reasoning or ''}\n</think>\n\n{message.text}"

    def parse(self, token_ids: Sequence[int]) -> Message:
        """See `Renderer.parse`: `<think>` and `<tool_call>` blocks are taken out, what is malformed stays
        text."""
        ids = list(token_ids)
        while ids and ids[-1] in self.stop_ids:
            ids.pop()
        text = str(self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))
        reasoning: str | None = None
        if match := _REASONING.match(text):
            reasoning, text = match.group(1).strip() or None, text[match.end() :]
        calls: list[ToolCall] = []

        def take(match: re.Match[str]) -> str:
            call = parse_call(match.group(1))
            if call is None:
                return match.group(0)
            calls.append(call)
            return ""

        text = _CALL.sub(take, text)
        return Message(
            "assistant", text.strip() if calls else text, reasoning=reasoning, tool_calls=tuple(calls)
        )

    def write(self, message: Message) -> list[int]:
        """See `Renderer.write`."""
        parts = [self._spoken(message)]
        for call in message.tool_calls:
            body = json.dumps({"name": call.name, "arguments": dict(call.arguments)})
            parts.append(f"\n<tool_call>\n{body}\n</tool_call>")
        return [*self._content_ids("".join(parts)), *self._end_ids]

    def _safe_ids(self, messages: Sequence[Message], render: Any) -> list[int]:
        """Ids of `render(messages)`; texts that name a control token are encoded apart, so that they
        cannot forge one."""
        unsafe = [index for index, message in enumerate(messages) if self._specials.search(message.text)]
        if not unsafe:
            return self._text_ids(render(messages))
        shown = [
            Message(m.role, _CONTENT_SLOT.format(index), m.reasoning, m.tool_calls) if index in unsafe else m
            for index, m in enumerate(messages)
        ]
        ids: list[int] = []
        pieces = _SLOT.split(render(shown))
        for place, piece in enumerate(pieces):
            ids += self._content_ids(messages[int(piece)].text) if place % 2 else self._text_ids(piece)
        return ids

    def _render(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema] = (), generate: bool = False
    ) -> str:
        chat: list[Any] = [message.to_chat() for message in messages]
        return str(
            self._tokenizer.apply_chat_template(
                chat,
                tools=[dict(tool) for tool in tools] or None,
                add_generation_prompt=generate,
                tokenize=False,
            )
        )

    def _text_ids(self, text: str) -> list[int]:
        """Ids of template text, in which control tokens are meant."""
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _content_ids(self, text: str) -> list[int]:
        """Ids of somebody's text, in which control tokens are only their names."""
        return list(self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _special_pattern(tokenizer: PreTrainedTokenizerBase) -> re.Pattern[str]:
    names = sorted((str(token) for token in tokenizer.added_tokens_decoder.values()), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, names)) if names else r"(?!)")
