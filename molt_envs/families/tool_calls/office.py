"""The office: four tables and the tools that read and change them.

In: calls by the agent. Out: text, and the tables as they then are. A call that is refused changes nothing.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from molt_envs.tools.calls import ToolError
from molt_envs.tools.schema import Bounds, suggestion

Row: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, dict[str, Row]]
"""contacts, orders, events, files, messages: rows by name, id or path."""

Day = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
DAYS: tuple[Day, ...] = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
FIRST_HOUR, LAST_HOUR = 8, 17
Hour = Annotated[int, Bounds(FIRST_HOUR, LAST_HOUR)]
OPEN = ("placed", "packed")
"""States of an order that has not been shipped."""
LAST_GIVEN_ID = 900
"""Events and messages that an episode begins with have smaller numbers, new ones greater."""


def changes(start: Tables, now: Tables) -> Counter[str]:
    """What differs, row by row. New events and messages count by their content, whatever their ids."""
    found: Counter[str] = Counter()
    for table, rows in start.items():
        for key in rows.keys() | now[table].keys():
            before, after = rows.get(key), now[table].get(key)
            if before != after:
                name = key if key in rows or table == "files" else "new"
                found[json.dumps([table, name, after], sort_keys=True)] += 1
    return found


class Office:
    """The tables under work. Its public methods but `tools` are the tools; their docstrings are shown."""

    def __init__(self) -> None:
        self.tables: Tables = {}

    def tools(self) -> tuple[Callable[..., str], ...]:
        """All tools, but the one that ends the episode."""
        orders = (self.find_orders, self.get_order, self.cancel_order, self.return_order)
        more = (self.set_quantity, self.set_address, self.find_contact)
        events = (self.list_events, self.create_event, self.move_event, self.set_attendees, self.delete_event)
        files = (self.list_files, self.read_file, self.write_file, self.move_file, self.delete_file)
        messages = (self.list_messages, self.read_message, self.send_message, self.archive_message)
        return (*orders, *more, *events, *files, *messages)

    def find_orders(self, customer: str) -> str:
        """List a customer's orders: id, item and status."""
        self._row("contacts", customer)
        found = [(key, row) for key, row in self.tables["orders"].items() if row["customer"] == customer]
        return _lines({"order_id": key} | {n: row[n] for n in ("item", "status")} for key, row in found)

    def get_order(self, order_id: str) -> str:
        """Show all of an order: customer, item, quantity, total, status, address."""
        return _lines([{"order_id": order_id} | self._row("orders", order_id)])

    def cancel_order(self, order_id: str) -> str:
        """Cancel an order that has not been shipped."""
        return self._set_order(order_id, OPEN, status="cancelled")

    def return_order(self, order_id: str) -> str:
        """Take back an order that has been delivered."""
        return self._set_order(order_id, ("delivered",), status="returned")

    def set_quantity(self, order_id: str, quantity: Annotated[int, Bounds(1, 99)]) -> str:
        """Change the quantity of an order that has not been shipped; the total follows."""
        row = self._row("orders", order_id)
        total = row["total"] // row["quantity"] * quantity
        return self._set_order(order_id, OPEN, quantity=quantity, total=total)

    def set_address(self, order_id: str, address: str) -> str:
        """Change the address of an order that has not been shipped."""
        return self._set_order(order_id, OPEN, address=address.strip())

    def find_contact(self, name: str) -> str:
        """Show a person's address, phone and team."""
        return _lines([{"name": name} | self._row("contacts", name)])

    def list_events(self, day: Day) -> str:
        """List the events of a day: id, title, hour, attendees. Every event lasts one hour."""
        rows = sorted(self.tables["events"].items(), key=lambda item: item[1]["hour"])
        return _lines({"event_id": key} | row for key, row in rows if row["day"] == day)

    def create_event(self, title: str, day: Day, hour: Hour, attendees: list[str]) -> str:
        """Enter an event of one hour; attendees are full names."""
        row = {"title": title.strip(), "day": day, "hour": hour, "attendees": self._people(attendees)}
        return f"created {self._add('events', 'E-', row)}"

    def move_event(self, event_id: str, day: Day, hour: Hour) -> str:
        """Move an event to another day or hour."""
        self._row("events", event_id).update(day=day, hour=hour)
        return f"moved {event_id} to {day} {hour}"

    def set_attendees(self, event_id: str, attendees: list[str]) -> str:
        """Replace the list of an event's attendees."""
        row = self._row("events", event_id)
        row["attendees"] = self._people(attendees)
        return f"attendees of {event_id}: {', '.join(row['attendees'])}"

    def delete_event(self, event_id: str) -> str:
        """Delete an event."""
        self._row("events", event_id)
        del self.tables["events"][event_id]
        return f"deleted {event_id}"

    def list_files(self, folder: str) -> str:
        """List the paths of a folder's files."""
        found = [path for path in sorted(self.tables["files"]) if path.startswith(f"{folder.strip('/')}/")]
        folders = {path.partition("/")[0] for path in self.tables["files"]}
        return "\n".join(found) or f"nothing there; the folders are {', '.join(sorted(folders))}"

    def read_file(self, path: str) -> str:
        """Show a file's text."""
        return self._row("files", path)["text"]

    def write_file(self, path: str, text: str) -> str:
        """Write a file, in place of what was there."""
        self.tables["files"][self._path(path)] = {"text": text.strip()}
        return f"wrote {path}"

    def move_file(self, path: str, new_path: str) -> str:
        """Move or rename a file, in place of what was there."""
        self._row("files", path)
        target = self._path(new_path)
        self.tables["files"][target] = self.tables["files"].pop(path)
        return f"moved {path} to {target}"

    def delete_file(self, path: str) -> str:
        """Delete a file."""
        self._row("files", path)
        del self.tables["files"][path]
        return f"deleted {path}"

    def list_messages(self, folder: Literal["inbox", "archive", "sent"]) -> str:
        """List a folder's messages: id, sender or addressee, subject."""
        rows = self.tables["messages"].items()
        found = [(key, row) for key, row in rows if row["folder"] == folder]
        return _lines(
            {"message_id": key} | {n: row[n] for n in ("from", "to", "subject")} for key, row in found
        )

    def read_message(self, message_id: str) -> str:
        """Show a message."""
        return _lines([{"message_id": message_id} | self._row("messages", message_id)])

    def send_message(self, to: str, subject: str, body: str) -> str:
        """Send a message to one person, by full name."""
        self._row("contacts", to)
        row = {"from": "me", "to": to, "subject": subject.strip(), "body": body.strip(), "folder": "sent"}
        return f"sent {self._add('messages', 'M-', row)}"

    def archive_message(self, message_id: str) -> str:
        """Move a message from the inbox to the archive."""
        row = self._row("messages", message_id)
        if row["folder"] != "inbox":
            raise ToolError(f"{message_id} is not in the inbox but in {row['folder']}")
        row["folder"] = "archive"
        return f"archived {message_id}"

    def _row(self, table: str, key: str) -> Row:
        rows = self.tables[table]
        if key not in rows:
            raise ToolError(f"there is no {key[:60]!r} in {table}{suggestion(key, rows)}")
        return rows[key]

    def _set_order(self, order_id: str, allowed: tuple[str, ...], **fields: Any) -> str:
        row = self._row("orders", order_id)
        if row["status"] not in allowed:
            raise ToolError(f"{order_id} is {row['status']}; it would have to be {' or '.join(allowed)}")
        row.update(fields)
        return f"{order_id}: " + ", ".join(f"{name} is now {value}" for name, value in fields.items())

    def _people(self, names: list[str]) -> list[str]:
        if not names:
            raise ToolError("an event has at least one attendee")
        for name in names:
            self._row("contacts", name)
        return sorted(set(names))

    def _path(self, path: str) -> str:
        folder, slash, name = path.partition("/")
        if not (folder and slash and name) or "/" in name or path != path.strip():
            raise ToolError(f"{path[:60]!r} is not a path; write folder/name")
        return path

    def _add(self, table: str, prefix: str, row: Row) -> str:
        rows = self.tables[table]
        key = f"{prefix}{max(LAST_GIVEN_ID, *(int(name[len(prefix) :]) for name in rows), 0) + 1}"
        rows[key] = row
        return key


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) or "nothing found"
