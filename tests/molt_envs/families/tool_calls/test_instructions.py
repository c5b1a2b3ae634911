"""What is wanted follows from the instruction: errands done from its words and the tables, not the plan."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from molt_envs.families.tool_calls.draft import call
from molt_envs.families.tool_calls.env import ToolCallsEnv
from molt_envs.families.tool_calls.office import DAYS, Tables
from molt_envs.families.tool_calls.tasks import office_task
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import write_calls

NOT_SHIPPED = {"placed", "packed"}


def names(text: str, tables: Tables) -> list[str]:
    return sorted((name for name in tables["contacts"] if name in text), key=text.index)


def days(text: str) -> list[str]:
    return sorted((day for day in DAYS if day in text), key=text.index)


def orders(tables: Tables, who: str) -> dict[str, Any]:
    rows = tables["orders"].items()
    return {key: row for key, row in rows if row["customer"] == who and row["status"] in NOT_SHIPPED}


def cancel_item(text: str, tables: Tables) -> list[ToolCall]:
    (who,) = names(text, tables)
    found = [key for key, row in orders(tables, who).items() if row["item"] in text]
    return [call("cancel_order", order_id=key) for key in found]


def cancel_open(text: str, tables: Tables) -> list[ToolCall]:
    (who,) = names(text, tables)
    return [call("cancel_order", order_id=key) for key in orders(tables, who)]


def moved_house(text: str, tables: Tables) -> list[ToolCall]:
    (who,) = names(text, tables)
    address = tables["contacts"][who]["address"]
    return [call("set_address", order_id=key, address=address) for key in orders(tables, who)]


def asked_by_message(text: str, tables: Tables) -> list[ToolCall]:
    (who,) = names(text, tables)
    rows = tables["messages"].values()
    (body,) = (row["body"] for row in rows if row["from"] == who and row["subject"] == "my order")
    found = re.search(r"make it (\d+) instead of (\d+) of the (.+)\.", body)
    assert found is not None
    ((key, row),) = [(key, row) for key, row in orders(tables, who).items() if row["item"] == found[3]]
    assert row["quantity"] == int(found[2])
    return [call("set_quantity", order_id=key, quantity=int(found[1]))]


def plan_meeting(text: str, tables: Tables) -> list[ToolCall]:
    (day,), pair = days(text), names(text, tables)
    title = text.split("'")[1]
    busy = {r["hour"] for r in tables["events"].values() if r["day"] == day and set(pair) & {*r["attendees"]}}
    hour = min(set(range(9, 18)) - busy)
    return [call("create_event", title=title, day=day, hour=hour, attendees=pair)]


def move_event(text: str, tables: Tables) -> list[ToolCall]:
    (old, new), (who,) = days(text), names(text, tables)
    rows = [(k, r) for k, r in tables["events"].items() if r["day"] == old and who in r["attendees"]]
    (key,) = (key for key, row in rows if row["title"] in text)
    hour = min(set(range(9, 18)) - {row["hour"] for row in tables["events"].values() if row["day"] == new})
    return [call("move_event", event_id=key, day=new, hour=hour)]


def ill(text: str, tables: Tables) -> list[ToolCall]:
    (day,), (who,) = days(text), names(text, tables)
    rows = tables["events"].items()
    found = [key for key, row in rows if row["day"] == day and who in row["attendees"]]
    return [call("delete_event", event_id=key) for key in found]


def archive_from(text: str, tables: Tables) -> list[ToolCall]:
    (who,) = names(text, tables)
    found = [key for key, row in tables["messages"].items() if row["from"] == who]
    return [call("archive_message", message_id=key) for key in found]


def count_orders(text: str, tables: Tables) -> list[ToolCall]:
    (who,) = names(text, tables)
    total = sum(row["total"] for row in orders(tables, who).values())
    (path,) = re.findall(r"\w+/\w+\.txt", text)
    return [call("write_file", path=path, text=str(total))]


def report_phones(text: str, tables: Tables) -> list[ToolCall]:
    (day,), (path,) = days(text), re.findall(r"\w+/\w+\.txt", text)
    (hour,) = re.findall(r" at (\d+)", text)
    rows = tables["events"].values()
    (event,) = (row for row in rows if row["day"] == day and row["hour"] == int(hour))
    assert event["title"] in text
    phones = [tables["contacts"][name]["phone"] for name in event["attendees"]]
    return [call("write_file", path=path, text="\n".join(phones))]


ERRANDS: list[Callable[[str, Tables], list[ToolCall]]] = [
    *(cancel_item, cancel_open, moved_house, asked_by_message, plan_meeting, move_event, ill),
    *(archive_from, count_orders, report_phones),
]


@pytest.mark.parametrize("errand", ERRANDS, ids=lambda errand: errand.__name__)
def test_the_words_are_enough(errand: Callable[[str, Tables], list[ToolCall]]) -> None:
    env = ToolCallsEnv()
    for split in ("train", "validation", "test"):
        tasks = [(index, office_task(split, index)) for index in range(90)]
        for index, task in tasks:
            if task.kind == errand.__name__:
                instruction, _ = env.reset(seed=0, options={"task_id": f"{split}:{index}"})
                env.step(write_calls(*errand(instruction, task.start)))
                _, reward, *_ = env.step(write_calls(call("finish")))
                assert reward == 1.0, f"{split}:{index}"
