"""The forms in which chat templates let a policy write tool calls.

In: what the policy said. Out: its calls and the text around them. What cannot be read stays text, so that the
environment can answer it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from molt_envs import ToolCall, ToolSchema, parse_call

ParameterTypes = Mapping[tuple[str, str], object]
"""JSON schema types by tool and parameter: forms without quotes need them to tell `1` from `"1"`."""


@dataclass(frozen=True)
class CallFormat:
    """One form of writing tool calls."""

    name: str
    """How the documentation calls it."""
    block: re.Pattern[str]
    """A block of calls; its first group is what `read` gets."""
    read: Callable[[str, ParameterTypes], list[ToolCall] | None]
    """The calls of a block, or None when they are malformed."""

    def split(self, text: str, types: ParameterTypes) -> tuple[str, tuple[ToolCall, ...]]:
        """The text without its well-formed calls, and those calls in order."""
        calls: list[ToolCall] = []

        def take(match: re.Match[str]) -> str:
            found = self.read(match.group(1), types)
            if not found:
                return match.group(0)
            calls.extend(found)
            return ""

        rest = self.block.sub(take, text)
        return (rest.strip() if calls else text), tuple(calls)


def parameter_types(tools: tuple[ToolSchema, ...]) -> ParameterTypes:
    """The declared type of each parameter; those without one are missing."""
    types: dict[tuple[str, str], object] = {}
    for tool in tools:
        match tool:
            case {"function": {"name": str(name), "parameters": {"properties": dict(properties)}}}:
                for key, schema in properties.items():
                    if isinstance(schema, dict) and "type" in schema:
                        types[name, key] = schema["type"]
            case _:
                continue
    return types


def _read_json(text: str, types: ParameterTypes) -> list[ToolCall] | None:
    call = parse_call(text)
    return None if call is None else [call]


def _read_llama(text: str, types: ParameterTypes) -> list[ToolCall] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"name": str(name), "parameters": dict(arguments)}:
            return [ToolCall(name, arguments)]
        case _:
            return None


_FUNCTION = re.compile(r"\s*<function=([^>\n]+)>(.*)</function>\s*", re.DOTALL)
_PARAMETER = re.compile(r"\s*<parameter=([^>\n]+)>\n?(.*?)\n?</parameter>\s*", re.DOTALL)


def _read_tags(text: str, types: ParameterTypes) -> list[ToolCall] | None:
    function = _FUNCTION.fullmatch(text)
    if function is None or _PARAMETER.sub("", function.group(2)).strip():
        return None
    name, body = function.groups()
    return [ToolCall(name, {key: _typed(value, types.get((name, key))) for key, value in _pairs(body)})]


def _pairs(body: str) -> list[tuple[str, str]]:
    return [(match.group(1), match.group(2)) for match in _PARAMETER.finditer(body)]


_KEY_VALUE = re.compile(r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>\s*", re.DOTALL)


def _read_key_values(text: str, types: ParameterTypes) -> list[ToolCall] | None:
    name, _, body = text.strip().partition("\n")
    if not name.isidentifier() or _KEY_VALUE.sub("", body).strip():
        return None
    pairs = [(match.group(1), match.group(2)) for match in _KEY_VALUE.finditer(body)]
    return [ToolCall(name, {key: _typed(value, types.get((name, key))) for key, value in pairs})]


def _read_python(text: str, types: ParameterTypes) -> list[ToolCall] | None:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else [tree]
        calls: list[ToolCall] = []
        for node in nodes:
            match node:
                case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
                    arguments = {str(k.arg): ast.literal_eval(k.value) for k in keywords if k.arg}
                    calls.append(ToolCall(name, json.loads(json.dumps(arguments))))
                case _:
                    return None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return calls


def _typed(text: str, declared: object) -> object:
    """A value written without quotes: text when so declared, else JSON where it is JSON."""
    if declared == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_TOOL_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)

FORMATS = (
    CallFormat("json", _TOOL_CALL, _read_json),
    CallFormat("function tags", _TOOL_CALL, _read_tags),
    CallFormat("argument tags", _TOOL_CALL, _read_key_values),
    CallFormat("bare json", re.compile(r"\A\s*(?:<\|python_tag\|>)?(\{.*\})\s*\Z", re.DOTALL), _read_llama),
    CallFormat(
        "python",
        re.compile(r"<\|tool_call_start\|>(.*?)<\|tool_call_end\|>", re.DOTALL),
        _read_python,
    ),
)
"""Tried in this order on a call that the template itself has written."""
