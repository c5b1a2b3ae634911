"""What comes back from an action of a tool environment: results, and errors instead of exceptions."""

from __future__ import annotations

import json

import pytest

from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import Tool, Toolbox, ToolError, fit, parse_calls, show, visible, write_calls
from molt_envs.tools.schema import tool_schema


def toolbox(**settings: int) -> Toolbox:
    def add(a: int, b: int = 1) -> str:
        """Add two numbers."""
        return str(a + b)

    def say(text: str) -> str:
        """Say it."""
        return text

    def refuse(why: str) -> str:
        """Refuse."""
        raise ToolError(why)

    def stop() -> str:
        """End."""
        return "over"

    return Toolbox([Tool.of(add), Tool.of(say), Tool.of(refuse), Tool.of(stop, ends=True)], **settings)


def one(action: str) -> str:
    (result,) = toolbox().run(action)
    assert result.is_error == result.text.startswith("Error: ")
    return result.text


def test_a_list_of_calls_is_run_in_order() -> None:
    action = write_calls(ToolCall("add", {"a": 1}), ToolCall("say", {"text": "é"}))
    assert action == '[{"arguments":{"a":1},"name":"add"},{"arguments":{"text":"é"},"name":"say"}]'
    results = toolbox().run(action)
    assert [(r.name, r.text, r.is_error) for r in results] == [("add", "2", False), ("say", "é", False)]
    assert show(results) == "[1] add: 2\n[2] say: é"


def test_one_call_alone_is_accepted() -> None:
    assert one('{"name": "add", "arguments": {"a": 2, "b": 3}}') == "5"


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("", "not JSON"),
        ("hello", "not JSON"),
        ('[{"name": "add"', "not JSON"),
        ("[]", "list of calls is empty"),
        ("3", "integer 3 is not a call"),
        ("null", "null null is not a call"),
        ('"add"', "is not a call"),
        ("[[]]", "array [] is not a call"),
        ('[{"name": "add", "arguments": {"a": 1}}, 3]', "integer 3 is not a call"),
        ("{}", "object {} is not a call"),
        ('{"name": 3, "arguments": {}}', "is not a call"),
        ('{"name": "add"}', 'lacks an object "arguments"'),
        ('{"name": "add", "arguments": "{}"}', "lacks an object"),
        ('{"name": "add", "arguments": []}', "lacks an object"),
        ('{"name": "ad", "arguments": {}}', "did you mean 'add'?"),
        ('{"name": "zzzz", "arguments": {}}', "the tools are add, say, refuse, stop"),
        ('{"name": "add", "arguments": {}}', "add: arguments lacks 'a'"),
        ('{"name": "add", "arguments": {"a": "1"}}', "add: a must be integer"),
        ('{"name": "add", "arguments": {"a": 1, "c": 2}}', "has no 'c'"),
        ('{"name": "add", "arguments": {"a": NaN}}', "finite"),
        ('{"name": "add", "arguments": {"a": 1e999}}', "finite"),
        ('{"name": "say", "arguments": {"text": "\\ud800"}}', "not JSON"),
        ('{"name": "refuse", "arguments": {"why": "closed\\u001b[2J"}}', "closed\\x1b[2J"),
        ("[" * 50_000, "nested too deeply"),
        ("[" * 200_000, "at most 100000 are read"),
        (json.dumps([{"name": "add", "arguments": {"a": 1}}] * 17), "at most 16"),
        ("1" * 5000, "not JSON"),
        ("‮é\ud800", "not JSON"),
    ],
)
def test_a_fault_comes_back_as_text(action: str, words: str) -> None:
    text = one(action)
    assert words in text
    assert text == visible(text)
    assert len(text) < 1000


def test_huge_arguments_are_named_briefly() -> None:
    assert len(one(json.dumps({"name": "x" * 90_000, "arguments": {}}))) < 300
    assert len(one(json.dumps({"name": "add", "arguments": {"y" * 90_000: 1}}))) < 300


def test_no_call_runs_when_one_of_the_list_is_not_a_call() -> None:
    ran: list[str] = []

    def note(text: str) -> str:
        ran.append(text)
        return "noted"

    Toolbox([Tool.of(note)]).run('[{"name": "note", "arguments": {"text": "x"}}, null]')
    assert ran == []


def test_a_call_after_a_refused_one_still_runs() -> None:
    results = toolbox().run(write_calls(ToolCall("add", {}), ToolCall("add", {"a": 1})))
    assert [result.is_error for result in results] == [True, False]


def test_a_tool_that_ends_the_turn_is_the_last() -> None:
    stop, add = ToolCall("stop", {}), ToolCall("add", {"a": 1})
    assert [result.ended for result in toolbox().run(write_calls(add, stop, add))] == [False, True]
    refused = toolbox().run(write_calls(ToolCall("stop", {"x": 1}), add))
    assert [result.ended for result in refused] == [False, False]


def test_a_fault_of_the_tool_itself_is_not_hidden() -> None:
    def broken() -> str:
        raise ZeroDivisionError("ours")

    with pytest.raises(ZeroDivisionError):
        Toolbox([Tool.of(broken)]).run('{"name": "broken", "arguments": {}}')


def test_a_tool_may_come_as_data() -> None:
    schema = tool_schema("look-up", "Find.", {"type": "object", "properties": {"from": {"type": "string"}}})
    box = Toolbox([Tool(schema, lambda arguments: f"seen {arguments['from']}")])
    assert box.schemas == (schema,)
    assert box.run('{"name": "look-up", "arguments": {"from": "A"}}')[0].text == "seen A"


def test_tables_that_cannot_be_right_are_refused() -> None:
    with pytest.raises(ValueError, match="lacks a name"):
        Tool({"type": "function"}, lambda arguments: "")
    with pytest.raises(ValueError, match="two tools"):
        Toolbox([Tool.of(visible), Tool.of(visible)])


def test_long_output_is_cut_with_a_note() -> None:
    (result,) = toolbox(max_output_chars=100).run(write_calls(ToolCall("say", {"text": "a" * 500 + "z"})))
    assert result.text.startswith("a" * 75 + "\n… 401 of 501 characters left out …")
    assert result.text.endswith("z")
    assert fit("abc", 3) == "abc"


def test_binary_output_is_shown_safely() -> None:
    assert visible("a\x00\x1b[2J\r\nb\tc\u202e\ud800") == "a\\x00\\x1b[2J\nb\tc\\u202e\\ud800"


def test_what_is_written_is_parsed_again() -> None:
    calls = (ToolCall("add", {"a": 1}), ToolCall("say", {"text": '\n"é'}))
    assert parse_calls(write_calls(*calls)) == calls
