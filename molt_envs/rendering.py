"""Renderers turn messages into token ids and sampled ids back into messages.

In: `Message`s and tool schemas. Out: ids to feed or to append. The byte-level reference needs no tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol, cast

from molt_envs.protocol.messages import Message, Role, ToolCall, ToolSchema


class Renderer(Protocol):
    """Messages to ids and back. `encode(m + [a] + n)` equals `encode(m) + sampled + extend(m, sampled, n)`
    whenever `extend` returns ids and `sampled` is what `encode` would write for `a`. A message's images are
    runs of placeholder ids before its text, each as long as pixels of that size need."""

    @property
    def renderer_id(self) -> str:
        """Name and version; episodes carry it."""
        ...

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """Ids that end a turn when the policy samples them."""
        ...

    @property
    def vocab_size(self) -> int:
        """Ids are below this."""
        ...

    def encode(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> list[int]:
        """The whole prompt's ids, up to where the policy begins to write."""
        ...

    def extend(
        self,
        messages: Sequence[Message],
        sampled_ids: Sequence[int],
        new_messages: Sequence[Message],
        tools: Sequence[ToolSchema] = (),
    ) -> list[int] | None:
        """Ids to append after `sampled_ids`: the turn's closing, `new_messages`, the next turn's opening.

        `messages` is the conversation up to and including the message parsed from `sampled_ids`.
        None when the format rewrites what came before, so that a new segment must begin.
        """
        ...

    def parse(self, token_ids: Sequence[int]) -> Message:
        """The assistant's message in sampled ids; malformed content stays in the text, it never raises."""
        ...

    def write(self, message: Message) -> list[int]:
        """The ids that a policy would sample to say `message`, its stop id last: for demonstrations."""
        ...


_ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
_ROLE_ID = {role: 256 + index for index, role in enumerate(_ROLES)}
_END, _CALL, _CALL_END, _THINK, _THINK_END, _TOOLS = 260, 261, 262, 263, 264, 265
_IMAGE, _IMAGE_BLOCK = 266, 28


class ByteRenderer:
    """UTF-8 bytes as ids 0–255, eleven control ids above: `[role] images bytes [end]` for each message.

    Text cannot forge a control id, so an observation cannot pose as another role. An image is a run of
    `image_id`, one for each block of 28 by 28 pixels that is begun.
    """

    renderer_id = "bytes-v1"
    stop_ids = (_END,)
    image_id = _IMAGE
    vocab_size = 267

    def encode(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> list[int]:
        """See `Renderer.encode`."""
        ids: list[int] = []
        if tools:
            ids += [_TOOLS, *_to_bytes(json.dumps(list(map(dict, tools)), sort_keys=True)), _END]
        for message in messages:
            ids += self._message(message)
        return [*ids, _ROLE_ID["assistant"]]

    def extend(
        self,
        messages: Sequence[Message],
        sampled_ids: Sequence[int],
        new_messages: Sequence[Message],
        tools: Sequence[ToolSchema] = (),
    ) -> list[int] | None:
        """See `Renderer.extend`; this format never rewrites."""
        ids: list[int] = [] if sampled_ids and sampled_ids[-1] == _END else [_END]
        for message in new_messages:
            ids += self._message(message)
        return [*ids, _ROLE_ID["assistant"]]

    def parse(self, token_ids: Sequence[int]) -> Message:
        """See `Renderer.parse`."""
        ids = list(token_ids)
        if _END in ids:
            ids = ids[: ids.index(_END)]
        reasoning, ids = _cut(ids, _THINK, _THINK_END)
        calls: list[ToolCall] = []
        while True:
            call_ids, rest = _cut(ids, _CALL, _CALL_END)
            call = None if call_ids is None else parse_call(_to_text(call_ids))
            if call is None:
                break
            calls.append(call)
            ids = rest
        thought = None if reasoning is None else _to_text(reasoning)
        return Message("assistant", _to_text(ids), reasoning=thought, tool_calls=tuple(calls))

    def write(self, message: Message) -> list[int]:
        """See `Renderer.write`."""
        return self._message(message)[1:]

    def _message(self, message: Message) -> list[int]:
        ids = [_ROLE_ID[message.role]]
        for image in message.images:
            height, width, _ = image.pixels.shape
            ids += [_IMAGE] * (-(-height // _IMAGE_BLOCK) * -(-width // _IMAGE_BLOCK))
        if message.reasoning is not None:
            ids += [_THINK, *_to_bytes(message.reasoning), _THINK_END]
        ids += _to_bytes(message.text)
        for call in message.tool_calls:
            body = json.dumps({"name": call.name, "arguments": dict(call.arguments)}, sort_keys=True)
            ids += [_CALL, *_to_bytes(body), _CALL_END]
        return [*ids, _END]


def parse_call(text: str) -> ToolCall | None:
    """A tool call from `{"name": …, "arguments": {…}}`; None for all else (`[]`, `3`, broken JSON)."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"name": str(name), "arguments": dict()}:
            return ToolCall(name, cast("dict[str, dict[str, object]]", value)["arguments"])
        case _:
            return None


def _to_bytes(text: str) -> list[int]:
    return list(text.encode("utf-8", "surrogatepass"))


def _to_text(ids: Sequence[int]) -> str:
    return bytes(i for i in ids if i < 256).decode("utf-8", "replace")


def _cut(ids: list[int], start_id: int, end_id: int) -> tuple[list[int] | None, list[int]]:
    """The ids between the first `start_id` and the `end_id` after it, and the rest; None without a pair."""
    if start_id not in ids:
        return None, ids
    start = ids.index(start_id)
    if end_id not in ids[start:]:
        return None, ids
    end = ids.index(end_id, start)
    return ids[start + 1 : end], ids[:start] + ids[end + 1 :]
