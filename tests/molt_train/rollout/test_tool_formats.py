"""Tool calls in each form: read where they are well-formed, left in the text where they are not."""

from __future__ import annotations

import pytest

from molt_envs import ToolCall
from molt_train.rollout.tool_formats import FORMATS, parameter_types
from tests.molt_train.rollout.conversations import TOOLS

BY_NAME = {form.name: form for form in FORMATS}
TYPES = parameter_types(TOOLS)
CALL = ToolCall("look_up", {"word": "7", "limit": 3})
WRITTEN = {
    "json": '<tool_call>\n{"name": "look_up", "arguments": {"word": "7", "limit": 3}}\n</tool_call>',
    "function tags": "<tool_call>\n<function=look_up>\n<parameter=word>\n7\n</parameter>\n"
    "<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>",
    "argument tags": "<tool_call>look_up\n<arg_key>word</arg_key>\n<arg_value>7</arg_value>\n"
    "<arg_key>limit</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    "bare json": '{"name": "look_up", "parameters": {"word": "7", "limit": 3}}',
    "python": "<|tool_call_start|>[look_up(word='7', limit=3)]<|tool_call_end|>",
}
MALFORMED = {
    "json": ["[]", "3", "null", "{broken", '{"name": 1, "arguments": {}}', '{"name": "f"}', "[" * 100_000],
    "function tags": [
        "",
        "<function=f>",
        "<function=f>loose</function>",
        "<function=f><parameter=x>",
    ],
    "argument tags": ["", "f\nloose", "not a name\n", "f\n<arg_key>x</arg_key>"],
    "python": ["[]", "3", "f(", "f(1)", "f(x=g())", "[f(x=1), 2]", "f(x={1})", "(" * 10_000],
}
WRAP = {"python": "<|tool_call_start|>{}<|tool_call_end|>"}


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_a_call_is_taken_out_of_the_text(name):
    before = "" if name == "bare json" else "I look.\n"
    assert BY_NAME[name].split(before + WRITTEN[name], TYPES) == (before.strip(), (CALL,))


@pytest.mark.parametrize("name", sorted(set(WRITTEN) - {"bare json"}))
def test_several_calls_come_in_their_order(name):
    assert BY_NAME[name].split(WRITTEN[name] * 2, TYPES) == ("", (CALL, CALL))


@pytest.mark.parametrize(("name", "body"), [(name, body) for name in MALFORMED for body in MALFORMED[name]])
def test_what_is_malformed_stays_in_the_text(name, body):
    text = WRAP.get(name, "<tool_call>{}</tool_call>").format(body)
    assert BY_NAME[name].split(text, TYPES) == (text, ())


@pytest.mark.parametrize(
    "text", ["{}", "{broken}", '{"name": "f"}', '{"name": "f", "parameters": []}', "a {}"]
)
def test_bare_json_that_is_no_call_stays_in_the_text(text):
    assert BY_NAME["bare json"].split(text, TYPES) == (text, ())


def test_a_value_without_quotes_has_the_declared_type_or_is_json_where_it_can_be():
    text = WRITTEN["function tags"]
    _, (undeclared,) = BY_NAME["function tags"].split(text, {})
    assert undeclared.arguments == {"word": 7, "limit": 3}
