"""Messages: what a conversation looks like before a renderer turns it into token ids.

In: text, images, tool calls, roles. Out: frozen `Message` values and the dicts that chat templates expect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from molt_envs.protocol.images import Image

Role = Literal["system", "user", "assistant", "tool"]

ToolSchema: TypeAlias = Mapping[str, object]
"""A tool as JSON schema: `{"type": "function", "function": {"name", "description", "parameters"}}`."""


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool by the policy."""

    name: str
    """The tool's name, as sampled; it may not exist."""
    arguments: Mapping[str, object]
    """Arguments by name, as parsed from JSON."""

    def to_chat(self) -> dict[str, object]:
        """The call in the form that chat templates read."""
        return {"type": "function", "function": {"name": self.name, "arguments": dict(self.arguments)}}


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Role
    """Who speaks."""
    text: str
    """What is said, without reasoning and without tool calls."""
    reasoning: str | None = None
    """The thinking that came before the text, where the policy's format has it."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Calls in the order in which they were made; only an assistant has them."""
    images: tuple[Image, ...] = ()
    """Images, which are shown before the text; the policy itself makes none."""

    def __post_init__(self) -> None:
        if self.tool_calls and self.role != "assistant":
            raise ValueError(f"a {self.role!r} message has tool calls; only an assistant's may")
        if self.images and self.role == "assistant":
            raise ValueError("an 'assistant' message has images; a policy writes text alone")

    def to_chat(self) -> dict[str, object]:
        """The message as the dict that chat templates read."""
        chat: dict[str, object] = {"role": self.role, "content": self.text}
        if self.images:
            pictures = [{"type": "image"} for _ in self.images]
            chat["content"] = [*pictures, {"type": "text", "text": self.text}]
        if self.reasoning is not None:
            chat["reasoning_content"] = self.reasoning
        if self.tool_calls:
            chat["tool_calls"] = [call.to_chat() for call in self.tool_calls]
        return chat
