"""Calls of tools: the action string of a tool environment in, what the tools said out.

In: the canonical JSON of a list of calls (one call alone is accepted). Out: one `CallResult` per call. Every
fault of the agent's comes back as the text of an error; only a fault of the tool's own code raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from molt_envs.env import ActionGrammar
from molt_envs.protocol.messages import ToolCall, ToolSchema
from molt_envs.tools.schema import brief, faults, function_schema, kind_of, suggestion

FORM = '{"name": "…", "arguments": {…}}'
MAX_ACTION_CHARS = 100_000
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class ToolError(Exception):
    """A call that cannot be carried out; its text is for the agent. Tools raise it for what they refuse."""


@dataclass(frozen=True)
class Tool:
    """A tool: what it is called with, and what is done then."""

    schema: ToolSchema
    """`{"type": "function", "function": {"name", "description", "parameters"}}`."""
    run: Callable[[Mapping[str, Any]], str]
    """Takes the checked arguments, gives the text for the agent; raises `ToolError` to refuse."""
    ends: bool = False
    """Whether it ends the turn: calls after a successful one are not carried out."""

    def __post_init__(self) -> None:
        match self.schema:
            case {"function": {"name": str(name), "parameters": dict()}} if name:
                return
            case _:
                raise ValueError(
                    f"a tool's schema lacks a name or parameters: {brief(dict(self.schema), 200)}"
                )

    @property
    def name(self) -> str:
        """The name that calls use."""
        return cast("dict[str, Any]", self.schema["function"])["name"]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments."""
        return cast("dict[str, Any]", self.schema["function"])["parameters"]

    @staticmethod
    def of(function: Callable[..., str], name: str | None = None, ends: bool = False) -> Tool:
        """A tool from a typed function; see `function_schema`."""
        return Tool(function_schema(function, name), lambda arguments: function(**arguments), ends)


@dataclass(frozen=True)
class CallResult:
    """What one call gave."""

    name: str
    """The tool's name as called; empty when the action held no call."""
    text: str
    """For the agent: safe characters only, within the budget."""
    is_error: bool = False
    """Whether the call was refused."""
    ended: bool = False
    """Whether a tool that ends the turn was carried out."""


class Toolbox:
    """Tools by name.

    Args:
        tools: with distinct names.
        max_output_chars: longest text of one result; what is beyond is cut, with a note.
        max_calls: most calls in one action.
    """

    def __init__(self, tools: Iterable[Tool], max_output_chars: int = 4000, max_calls: int = 16) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name!r}; give one another name")
            self._tools[tool.name] = tool
        self._max_output_chars = max_output_chars
        self._max_calls = max_calls

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, in the order in which they were given."""
        return tuple(self._tools.values())

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """For `EnvCard.tools`."""
        return tuple(tool.schema for tool in self._tools.values())

    def run(self, action: str) -> tuple[CallResult, ...]:
        """Carry out the calls of an action in order; at least one result, an error if there is no call."""
        try:
            calls = parse_calls(action, self._max_calls)
        except ToolError as error:
            return (self._refusal("", error),)
        results: list[CallResult] = []
        for call in calls:
            results.append(self.call(call))
            if results[-1].ended:
                break
        return tuple(results)

    def call(self, call: ToolCall) -> CallResult:
        """Check and carry out one call."""
        try:
            tool = self._tool(call)
            text = tool.run(call.arguments)
        except ToolError as error:
            return self._refusal(call.name, error)
        return CallResult(call.name, fit(visible(text), self._max_output_chars), ended=tool.ends)

    def _tool(self, call: ToolCall) -> Tool:
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools)
            hint = suggestion(call.name, self._tools)
            raise ToolError(f"there is no tool {brief(call.name)}{hint or f'; the tools are {known}'}")
        found = faults(dict(call.arguments), tool.parameters)
        if found:
            raise ToolError(f"{tool.name}: {'; '.join(found[:5])}")
        return tool

    def _refusal(self, name: str, error: ToolError) -> CallResult:
        return CallResult(name, fit(visible(f"Error: {error}"), self._max_output_chars), is_error=True)


def show(results: Sequence[CallResult]) -> str:
    """The observation: the text of the only result, or each with its number and tool."""
    if len(results) == 1:
        return results[0].text
    return "\n".join(f"[{number}] {visible(r.name)[:60]}: {r.text}" for number, r in enumerate(results, 1))


def write_calls(*calls: ToolCall) -> str:
    """The action string: canonical JSON of the list of calls."""
    listed = [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]
    return json.dumps(listed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def call_grammar(example: ToolCall) -> ActionGrammar:
    """The form of an action of a tool environment, with one call as the example."""
    return ActionGrammar('a JSON list of calls, each {"name": …, "arguments": {…}}', write_calls(example))


def parse_calls(action: str, max_calls: int = 16) -> tuple[ToolCall, ...]:
    """The calls in an action.

    Raises:
        ToolError: it is too long, not JSON, not one call or a list of them, empty, or has too many.
    """
    if len(action) > MAX_ACTION_CHARS:
        raise ToolError(f"the action has {len(action)} characters; at most {MAX_ACTION_CHARS} are read")
    try:
        value = json.loads(action, parse_float=_finite, parse_constant=_finite)
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate would break the tools behind
    except RecursionError:
        raise ToolError("the action is nested too deeply") from None
    except ValueError as error:
        raise ToolError(f"the action is not JSON: {error}; write a call as {FORM}") from None
    listed = cast("list[object]", value if isinstance(value, list) else [value])
    if not listed:
        raise ToolError(f"the list of calls is empty; write a call as {FORM}")
    if len(listed) > max_calls:
        raise ToolError(f"{len(listed)} calls at once; at most {max_calls} are carried out")
    return tuple(_call(item) for item in listed)


def visible(text: str) -> str:
    """The text with control characters, direction marks and lone surrogates written as escapes."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def fit(text: str, max_chars: int) -> str:
    """The text, or its start and end around a note of how many characters were left out."""
    if len(text) <= max_chars:
        return text
    head, tail = max_chars * 3 // 4, max_chars // 4
    note = f"\n… {len(text) - head - tail} of {len(text)} characters left out …\n"
    return text[:head] + note + text[len(text) - tail :]


def _call(item: object) -> ToolCall:
    match item:
        case {"name": str(name), "arguments": dict()}:
            return ToolCall(name, cast("dict[str, dict[str, object]]", item)["arguments"])
        case {"name": str(name)}:
            raise ToolError(f'the call of {brief(name)} lacks an object "arguments"; write a call as {FORM}')
        case _:
            raise ToolError(f"{kind_of(item)} {brief(item)} is not a call; write a call as {FORM}")


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError(f"{text[:60]} is not a finite number")
    return number


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
