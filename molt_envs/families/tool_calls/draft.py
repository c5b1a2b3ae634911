"""An office full of rows that a task begins with, and what templates ask of it.

In: a random generator and the words of a split. Out: tables; persons, words and rows that fit a wish.
"""

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

from molt_envs.families.tool_calls.office import DAYS, LAST_GIVEN_ID, LAST_HOUR, OPEN, Row, Tables
from molt_envs.protocol.messages import ToolCall

STATUSES = ("placed", "packed", "shipped", "delivered")
HOURS = range(9, 17)


def call(tool: str, **arguments: Any) -> ToolCall:
    """A call, for plans."""
    return ToolCall(tool, arguments)


class Draft:
    """The start of a task.

    Args:
        split: whose words are used; splits share no person.
        rng: fixes everything.
    """

    def __init__(self, split: str, rng: random.Random) -> None:
        self.rng = rng
        self._words = texts("words.json")[split]
        first = self.draw("first", 7)
        # two persons share a first name
        names = zip([*first, first[0]], self.draw("last", 8), strict=True)
        self.people = [" ".join(name) for name in names]
        rng.shuffle(self.people)
        self.tables: Tables = {
            "contacts": {name: {"address": self.address(), "phone": self._phone()} for name in self.people},
            "orders": self._orders(),
            "events": self._events(),
            "files": self._files(),
            "messages": {},
        }
        for name in rng.sample(self.people, 6):
            self.message(name, f"about the {self.word()}", f"The {self.word()} is not where I left it.")

    def draw(self, kind: str, count: int) -> list[str]:
        """Distinct words of a kind."""
        return self.rng.sample(self._words[kind], count)

    def word(self) -> str:
        """Any word."""
        return self.rng.choice(self._words["words"])

    def customer(self) -> str:
        """A person with an order in each status."""
        return self.rng.choice(self.people[:3])

    def person(self, *but: str) -> str:
        """Any person but these."""
        return self.rng.choice([name for name in self.people if name not in but])

    def orders_of(self, customer: str, *statuses: str) -> dict[str, Row]:
        """A customer's orders in these statuses."""
        rows = self.tables["orders"].items()
        return {k: row for k, row in rows if row["customer"] == customer and row["status"] in statuses}

    def events_on(self, day: str) -> dict[str, Row]:
        """A day's events in the order of their hours."""
        rows = sorted(self.tables["events"].items(), key=lambda item: item[1]["hour"])
        return {key: row for key, row in rows if row["day"] == day}

    def event(self) -> tuple[str, Row]:
        """Any event."""
        return self.rng.choice(list(self.tables["events"].items()))

    def free_hour(self, day: str, *names: str) -> int:
        """The first hour from 9 on at which all of these persons, or else the whole office, have no event."""
        rows = self.events_on(day).values()
        taken = {row["hour"] for row in rows if not names or set(names) & set(row["attendees"])}
        return next(hour for hour in (*HOURS, LAST_HOUR) if hour not in taken)

    def open_order(self, customer: str) -> tuple[str, Row]:
        """One of a customer's orders that have not been shipped."""
        return self.rng.choice(list(self.orders_of(customer, *OPEN).items()))

    def twin_event(self) -> tuple[str, Row]:
        """One of the two events that share a title."""
        titles = [row["title"] for row in self.tables["events"].values()]
        rows = self.tables["events"].items()
        return self.rng.choice([(key, row) for key, row in rows if titles.count(row["title"]) > 1])

    def busy_day(self) -> tuple[str, str, dict[str, Row]]:
        """A person, a day, and the events that the person attends on it: at least one."""
        _, row = self.event()
        who, rows = self.rng.choice(row["attendees"]), self.events_on(row["day"])
        return who, row["day"], {key: row for key, row in rows.items() if who in row["attendees"]}

    def other_day(self, day: str) -> str:
        """Any day but this."""
        return self.rng.choice([other for other in DAYS if other != day])

    def folders(self) -> list[str]:
        """All folders, sorted."""
        return sorted({path.partition("/")[0] for path in self.tables["files"]})

    def file(self) -> str:
        """The path of any file."""
        return self.rng.choice(sorted(self.tables["files"]))

    def files_in(self, folder: str) -> list[str]:
        """The paths of a folder, sorted."""
        return [path for path in sorted(self.tables["files"]) if path.startswith(f"{folder}/")]

    def message(self, sender: str, subject: str, body: str) -> str:
        """Put a message into the inbox; gives its id."""
        rows = self.tables["messages"]
        key = f"M-{self._fresh(rows, 'M-', LAST_GIVEN_ID)}"
        rows[key] = {"from": sender, "to": "me", "subject": subject, "body": body, "folder": "inbox"}
        return key

    def _fresh(self, rows: dict[str, Row], prefix: str, limit: int) -> int:
        while f"{prefix}{(number := self.rng.randrange(limit // 10, limit))}" in rows:
            pass
        return number

    def address(self) -> str:
        """A street with a number."""
        return f"{self.rng.randrange(1, 99)} {self.rng.choice(self._words['streets'])}"

    def _phone(self) -> str:
        return f"555-{self.rng.randrange(1000, 9999)}"

    def _orders(self) -> dict[str, Row]:
        """Three customers with an order in each status, each of another item; the others with one order."""
        rows: dict[str, Row] = {}
        for number, customer in enumerate(self.people):
            statuses = STATUSES if number < 3 else (self.rng.choice(STATUSES),)
            if number < 3 and self.rng.random() < 0.5:
                statuses = (*statuses, self.rng.choice(OPEN))
            for status, item in zip(statuses, self.draw("items", len(statuses)), strict=True):
                quantity, price = self.rng.randrange(1, 6), self.rng.randrange(8, 60)
                row: Row = {"customer": customer, "item": item, "quantity": quantity, "status": status}
                key = f"O-{self._fresh(rows, 'O-', 9999)}"
                rows[key] = row | {"total": quantity * price, "address": self.address()}
        return dict(sorted(rows.items()))

    def _events(self) -> dict[str, Row]:
        """Twelve events at distinct times; two of them share a title but no attendee."""
        slots = self.rng.sample([(day, hour) for day in DAYS for hour in HOURS], 12)
        first, *titles = self.draw("titles", 7)
        titles = [first, first, *titles, *(f"{word} meeting" for word in self.draw("words", 4))]
        rows: dict[str, Row] = {}
        for number, (title, (day, hour)) in enumerate(zip(titles, slots, strict=True)):
            some = self.people[:4] if number % 2 else self.people[4:]
            attendees = sorted(self.rng.sample(some, self.rng.randrange(2, 4)))
            key = f"E-{self._fresh(rows, 'E-', LAST_GIVEN_ID)}"
            rows[key] = {"title": title, "day": day, "hour": hour, "attendees": attendees}
        return dict(sorted(rows.items()))

    def _files(self) -> dict[str, Row]:
        """Three folders; the first two share a file name."""
        rows: dict[str, Row] = {}
        names = self.draw("files", 7)
        groups = (names[:3], [names[0], *names[3:5]], names[5:])
        for folder, group in zip(self.draw("folders", 3), groups, strict=True):
            texts = {f"{folder}/{name}.txt": f"{self.word()}: see {self.person()}" for name in group}
            rows |= {path: {"text": text} for path, text in texts.items()}
        return rows


@cache
def texts(file: str) -> dict[str, Any]:
    """A file of `data/`."""
    return json.loads(Path(__file__).with_name("data").joinpath(file).read_text("utf-8"))
