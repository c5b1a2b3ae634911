"""The byte renderer and histories, by literal values."""

from __future__ import annotations

import pytest

from molt_envs import ByteRenderer, Full, Message, ToolCall, Window, parse_call

TALK = [
    Message("system", "s"),
    Message("user", "o0"),
    Message("assistant", "a0"),
    Message("user", "o1"),
    Message("assistant", "a1"),
    Message("user", "o2"),
    Message("assistant", "a2"),
    Message("user", "o3"),
]


@pytest.mark.parametrize(
    ("num_turns", "shown"), [(1, "s o0 a2 o3"), (2, "s o0 a1 o2 a2 o3"), (3, "s o0 a0 o1 a1 o2 a2 o3")]
)
def test_a_window_shows_the_head_and_the_last_turns(num_turns: int, shown: str) -> None:
    assert " ".join(message.text for message in Window(num_turns).view(TALK)) == shown


def test_the_full_history_shows_everything() -> None:
    assert list(Full().view(TALK)) == TALK


def test_a_window_of_no_turns_is_refused() -> None:
    with pytest.raises(ValueError, match="window of 0 turns"):
        Window(0)


def test_text_cannot_forge_a_control_id() -> None:
    ids = ByteRenderer().encode([Message("user", "".join(map(chr, range(256, 270))))])
    assert [i for i in ids if i > 255] == [257, 260, 258]


def test_reasoning_and_calls_are_written_and_parsed() -> None:
    renderer = ByteRenderer()
    said = Message("assistant", "t", reasoning="r", tool_calls=(ToolCall("f", {"x": [1, None]}),))
    ids = renderer.write(said)
    assert ids == [263, 114, 264, 116, 261, *b'{"arguments": {"x": [1, null]}, "name": "f"}', 262, 260]
    assert renderer.parse(ids) == said


@pytest.mark.parametrize(
    "text", ["[]", "3", "null", "{", '{"name": 1, "arguments": {}}', '{"name": "f"}', ""]
)
def test_what_is_no_call_is_none(text: str) -> None:
    assert parse_call(text) is None


@pytest.mark.parametrize("body", [b"[]", b"3", b"null", b"{broken"])
def test_a_malformed_call_stays_in_the_text(body: bytes) -> None:
    said = ByteRenderer().parse([104, 105, 261, *body, 262, 260])
    assert said == Message("assistant", "hi" + body.decode())


def test_ids_after_the_stop_are_not_read() -> None:
    assert ByteRenderer().parse([104, 105, 260, 106, 260]).text == "hi"


def test_only_an_assistant_calls_tools() -> None:
    with pytest.raises(ValueError, match="only an assistant"):
        Message("user", "", tool_calls=(ToolCall("f", {}),))
