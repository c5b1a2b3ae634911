"""The office's tools one by one: what they change, and what they refuse without a change."""

from __future__ import annotations

import copy

import pytest

from molt_envs.families.tool_calls.office import Office, Tables
from molt_envs.tools.calls import ToolError

START: Tables = {
    "contacts": {
        "Ada Dahl": {"address": "1 Oak Street", "phone": "555-1"},
        "Bo Weber": {"address": "2 Elm", "phone": "555-2"},
    },
    "orders": {
        "O-1": {
            "customer": "Ada Dahl",
            "item": "lamp",
            "quantity": 2,
            "status": "placed",
            "total": 20,
            "address": "x",
        },
        "O-2": {
            "customer": "Ada Dahl",
            "item": "fan",
            "quantity": 1,
            "status": "shipped",
            "total": 9,
            "address": "x",
        },
        "O-3": {
            "customer": "Bo Weber",
            "item": "fan",
            "quantity": 1,
            "status": "delivered",
            "total": 9,
            "address": "y",
        },
    },
    "events": {
        "E-9": {"title": "talk", "day": "Monday", "hour": 11, "attendees": ["Ada Dahl"]},
        "E-8": {"title": "lunch", "day": "Monday", "hour": 9, "attendees": ["Bo Weber"]},
    },
    "files": {"notes/a.txt": {"text": "one"}, "drafts/b.txt": {"text": "two"}},
    "messages": {
        "M-5": {"from": "Bo Weber", "to": "me", "subject": "hi", "body": "hello", "folder": "inbox"}
    },
}


def office() -> Office:
    made = Office()
    made.tables = copy.deepcopy(START)
    return made


def test_what_is_read() -> None:
    desk = office()
    assert desk.find_orders("Ada Dahl") == (
        '{"order_id": "O-1", "item": "lamp", "status": "placed"}\n'
        '{"order_id": "O-2", "item": "fan", "status": "shipped"}'
    )
    assert '"total": 20' in desk.get_order("O-1")
    assert desk.find_contact("Bo Weber") == '{"name": "Bo Weber", "address": "2 Elm", "phone": "555-2"}'
    assert [line[14:17] for line in desk.list_events("Monday").splitlines()] == ["E-8", "E-9"]
    assert desk.list_events("Friday") == "nothing found"
    assert desk.list_files("notes") == "notes/a.txt"
    assert desk.list_files("nowhere") == "nothing there; the folders are drafts, notes"
    assert desk.read_file("notes/a.txt") == "one"
    assert "hello" not in desk.list_messages("inbox")
    assert "hello" in desk.read_message("M-5")
    assert desk.tables == START


def test_what_is_changed() -> None:
    desk = office()
    desk.set_quantity("O-1", 5)
    desk.set_address("O-1", " 3 Elm ")
    desk.return_order("O-3")
    desk.move_event("E-9", "Tuesday", 10)
    desk.set_attendees("E-8", ["Bo Weber", "Ada Dahl", "Bo Weber"])
    desk.move_file("notes/a.txt", "drafts/b.txt")
    desk.archive_message("M-5")
    tables = desk.tables
    assert (
        tables["orders"]["O-1"] | {"quantity": 5, "total": 50, "address": "3 Elm"} == tables["orders"]["O-1"]
    )
    assert tables["orders"]["O-3"]["status"] == "returned"
    assert (tables["events"]["E-9"]["day"], tables["events"]["E-9"]["hour"]) == ("Tuesday", 10)
    assert tables["events"]["E-8"]["attendees"] == ["Ada Dahl", "Bo Weber"]
    assert tables["files"] == {"drafts/b.txt": {"text": "one"}}
    assert tables["messages"]["M-5"]["folder"] == "archive"
    desk.cancel_order("O-1")
    assert tables["orders"]["O-1"]["status"] == "cancelled"


def test_what_is_new_gets_a_new_id_even_when_all_else_is_gone() -> None:
    desk = office()
    desk.delete_event("E-8")
    desk.delete_event("E-9")
    assert desk.create_event("x", "Friday", 9, ["Ada Dahl"]) == "created E-901"
    assert desk.create_event("x", "Friday", 9, ["Ada Dahl"]) == "created E-902"
    assert desk.send_message("Ada Dahl", "s ", " b\n") == "sent M-901"
    assert desk.tables["messages"]["M-901"]["body"] == "b"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("cancel_order", ["O-2"], "O-2 is shipped"),
        ("return_order", ["O-1"], "O-1 is placed"),
        ("set_quantity", ["O-3", 2], "O-3 is delivered"),
        ("set_address", ["O-2", "x"], "O-2 is shipped"),
        ("cancel_order", ["O-7"], "no 'O-7' in orders"),
        ("find_orders", ["Ada Dal"], "did you mean 'Ada Dahl'?"),
        ("move_event", ["E-1", "Friday", 9], "no 'E-1'"),
        ("create_event", ["x", "Friday", 9, ["Ada"]], "no 'Ada' in contacts"),
        ("set_attendees", ["E-9", []], "at least one"),
        ("read_file", ["a.txt"], "no 'a.txt'"),
        ("write_file", ["a.txt", ""], "not a path"),
        ("write_file", ["../a/b.txt", ""], "not a path"),
        ("move_file", ["notes/a.txt", "notes/"], "not a path"),
        ("send_message", ["nobody", "", ""], "no 'nobody'"),
    ],
)
def test_what_is_refused_changes_nothing(tool: str, arguments: list[object], words: str) -> None:
    desk = office()
    tools = {function.__name__: function for function in desk.tools()}
    with pytest.raises(ToolError, match=words.replace("?", r"\?")):
        tools[tool](*arguments)
    assert desk.tables == START


def test_a_message_is_archived_once() -> None:
    desk = office()
    desk.archive_message("M-5")
    with pytest.raises(ToolError, match="not in the inbox"):
        desk.archive_message("M-5")
