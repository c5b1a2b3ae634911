"""Finds out, with a trial call, in which form a chat template lets the policy call tools.

In: a function that renders messages to text. Out: the form, or why tools cannot be used with the template.
"""

from __future__ import annotations

from molt_envs import Message, ToolCall, ToolSchema
from molt_train.rollout.template_probe import RENDER_ERRORS, Render, TemplateShape, shows_role
from molt_train.rollout.tool_formats import FORMATS, CallFormat, parameter_types

_TOOL: ToolSchema = {
    "type": "function",
    "function": {
        "name": "probe_tool",
        "description": "probe description",
        "parameters": {
            "type": "object",
            "properties": {
                "word": {"type": "string", "description": "a word"},
                "count": {"type": "integer", "description": "a number"},
            },
            "required": ["word"],
        },
    },
}
_CALL = ToolCall("probe_tool", {"word": "7", "count": 3})
_SEEN = "probe result"


def probe_tools(render: Render, shape: TemplateShape) -> CallFormat | str:
    """The form of a call, or a clause that says why tools cannot be used."""
    opening = [Message("system", "probe system"), Message("user", "probe user")]
    calling = [Message("assistant", "", thought, (_CALL,)) for thought in (None, "probe thought")]
    try:
        prompt = render(opening, (_TOOL,), generate=True)
        longer = [
            render([*opening, call, Message("tool", _SEEN)], (_TOOL,), generate=True) for call in calling
        ]
    except RENDER_ERRORS as error:
        return f"it cannot render a tool call: {error}"
    if "probe_tool" not in prompt:
        return "it does not show the tools that it is given"
    if not shows_role(render, shape, "tool"):
        return "it has no turn for a tool's answer after any message"
    if not all(_SEEN in text and text.endswith(shape.opening) for text in longer):
        return "a tool's answer is not followed by the generation prompt"
    said = [answer for text in longer if (answer := written_answer(text, prompt, shape)) is not None]
    if not said:
        return "it does not write a tool call between its generation prompt and the end of an answer"
    for form in FORMATS:
        if form.split(said[0], parameter_types((_TOOL,)))[1] == (_CALL,):
            return form
    return "its form of tool calls is not known" if "probe_tool" in said[0] else "it leaves out tool calls"


def written_answer(text: str, prompt: str, shape: TemplateShape) -> str | None:
    """What `text` has between the prompt and the end of the answer; None when either is not there."""
    if not text.startswith(prompt):
        return None
    answer, found, _ = text[len(prompt) :].partition(shape.end)
    return answer if found else None
