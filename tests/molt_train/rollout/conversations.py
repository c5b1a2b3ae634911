"""Conversations of three turns, followed token by token and compared with the template's own full render."""

from __future__ import annotations

from collections.abc import Sequence

from transformers import PreTrainedTokenizerFast

from molt_envs import Message, ToolCall, ToolSchema
from molt_train.rollout.chat_renderer import ChatRenderer

TOOLS: tuple[ToolSchema, ...] = (
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Look a word up.",
            "parameters": {
                "type": "object",
                "properties": {
                    "word": {"type": "string", "description": "The word."},
                    "limit": {"type": "integer", "description": "Most lines."},
                },
                "required": ["word"],
            },
        },
    },
)
PLAIN = [Message("assistant", f"click[answer {turn}]") for turn in range(3)]
THINKING = [Message("assistant", f"click[answer {turn}]", reasoning=f"because {turn}") for turn in range(3)]
CALLING = [
    Message("assistant", "", tool_calls=(ToolCall("look_up", {"word": f"{turn}", "limit": turn}),))
    for turn in range(3)
]
THINKING_AND_CALLING = [
    Message("assistant", "", f"because {turn}", message.tool_calls) for turn, message in enumerate(CALLING)
]


def full_render(
    tokenizer: PreTrainedTokenizerFast,
    messages: Sequence[Message],
    tools: Sequence[ToolSchema] = (),
    parts: bool = False,
) -> list[int]:
    """What the template and the tokenizer give without the renderer."""
    chat = [message.to_chat() for message in messages]
    for message in chat:
        if parts:
            message["content"] = [{"type": "text", "text": message["content"]}]
    return list(
        tokenizer.apply_chat_template(
            chat, tools=list(tools) or None, add_generation_prompt=True, tokenize=True, return_dict=False
        )
    )


def num_new_segments(
    renderer: ChatRenderer,
    tokenizer: PreTrainedTokenizerFast,
    answers: Sequence[Message],
    tools: Sequence[ToolSchema] = (),
    parts: bool = False,
) -> int:
    """Play `answers` and give how many of the turns began a new segment.

    After each turn the ids must be those of the full render.
    """
    role = "tool" if tools else "user"
    messages = [Message("system", "You shop."), Message("user", "hello\nthere")]
    ids = renderer.encode(messages, tools)
    assert ids == full_render(tokenizer, messages, tools, parts)
    num_rewrites = 0
    for turn, said in enumerate(answers):
        sampled = renderer.write(said)
        answer, observation = renderer.parse(sampled), Message(role, f"observation {turn} [SEP] x")
        assert (answer.text, answer.tool_calls) == (said.text, said.tool_calls)
        assert answer.reasoning == said.reasoning
        appended = renderer.extend([*messages, answer], sampled, [observation], tools)
        messages = [*messages, answer, observation]
        num_rewrites += appended is None
        ids = renderer.encode(messages, tools) if appended is None else ids + sampled + appended
        assert ids == full_render(tokenizer, messages, tools, parts), f"turn {turn}"
    return num_rewrites
