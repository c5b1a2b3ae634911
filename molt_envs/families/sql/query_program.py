"""SQLite on a short leash: a database and a query in, rows or a digest of them out.

It runs inside of a sandbox as text, on what an agent wrote, and outside on our own queries; so it imports the
standard library alone. The connection is read-only, and the number of steps and rows is bounded.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing

MAX_STEPS = 5_000_000
"""Instructions of SQLite's machine: a count, so that the same query ends the same everywhere."""
STEPS_AT_ONCE = 10_000
MAX_ROWS = 5000
MAX_SHOWN_ROWS = 50
MAX_SHOWN_CHARS = 3000
READ_PRAGMAS = ("table_info", "table_xinfo", "table_list", "foreign_key_list", "index_list", "index_info")
ACTIONS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
BAD_FUNCTIONS = (
    *("load_extension", "random", "randomblob", "zeroblob", "readfile", "writefile", "edit"),
    *("current_date", "current_time", "current_timestamp"),
)
DATE_FUNCTIONS = {"date": 0, "time": 0, "datetime": 0, "julianday": 0, "strftime": 1, "unixepoch": 0}
"""Name -> which argument is the time. Without one, or for `now`, SQLite would ask the clock."""
NO_CLOCK = "functions of dates and times need a time that is written out or in a column; there is no clock"
MAX_VALUE_BYTES = 100_000
MAX_SQL_BYTES = 20_000
Row = tuple[object, ...]


def look(path: str, query: str) -> str:
    """JSON with the `text` of the given database's rows, or the `error`."""
    try:
        return _json(text=table(*_on_given(path, query)))
    except ValueError as error:
        return _json(error=str(error)[:MAX_SHOWN_CHARS])


def judge(path: str, query: str, hidden_script: str, is_ordered: bool) -> str:
    """JSON with the `digests` of the results on both databases, or the `error` on the given one."""
    try:
        _, rows = _on_given(path, query)
    except ValueError as error:
        return _json(error=str(error)[:MAX_SHOWN_CHARS])
    with closing(open_script(hidden_script)) as connection:
        try:
            hidden = digest(run(connection, query)[1], is_ordered)
        except ValueError:
            hidden = ""  # an error here would tell something of the hidden database
    return _json(digests=[digest(rows, is_ordered), hidden])


def open_given(path: str) -> sqlite3.Connection:
    """A database file, read-only by its connection, by query_only and by what `_allow` lets through."""
    return restrict(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True))


def open_script(script: str) -> sqlite3.Connection:
    """A database in memory that a script of ours makes."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(script)
    return restrict(connection)


def database_file(script: str) -> bytes:
    """The database file that a script of ours makes."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        return connection.serialize()


def restrict(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Let it do nothing but read, within the limits."""
    connection.execute("PRAGMA query_only = 1")
    connection.execute("PRAGMA trusted_schema = 0")
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES)
    plain = sqlite3.connect(":memory:")
    for name, place in DATE_FUNCTIONS.items():
        connection.create_function(name, -1, _without_clock(plain, name, place), deterministic=True)
    connection.set_authorizer(_allow)
    return connection


def _without_clock(plain: sqlite3.Connection, name: str, place: int) -> Callable[..., str | float | None]:
    """The function as SQLite has it, for times that are given: the same query has the same answer always."""

    def call(*arguments: object) -> str | float | None:
        if len(arguments) <= place or str(arguments[place]).strip().lower() == "now":
            raise ValueError(NO_CLOCK)
        marks = ", ".join("?" * len(arguments))
        return plain.execute(f"SELECT {name}({marks})", arguments).fetchone()[0]

    return call


def run(connection: sqlite3.Connection, query: str) -> tuple[list[str], list[Row]]:
    """Names of the columns, and the rows.

    Raises:
        ValueError: what is wrong with the query, in words for the agent.
    """
    left = MAX_STEPS // STEPS_AT_ONCE

    def is_over() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(is_over, STEPS_AT_ONCE)
    try:
        cursor = connection.execute(query)
        rows = cursor.fetchmany(MAX_ROWS + 1)
    except sqlite3.OperationalError as error:
        stopped = f"stopped: it took more than {MAX_STEPS:,} steps of the machine"
        told = NO_CLOCK if "user-defined function" in str(error) else str(error)
        raise ValueError(stopped if left < 0 else told) from None
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
        raise ValueError(str(error) or type(error).__name__) from None
    if len(rows) > MAX_ROWS:
        raise ValueError(f"more than {MAX_ROWS} rows; ask for fewer")
    if cursor.description is None:
        raise ValueError("the query gives no rows; write one SELECT")
    return [column[0] for column in cursor.description], rows


def digest(rows: list[Row], is_ordered: bool) -> str:
    """Equal for equal results: as a list where the order was asked for, else whatever the order."""
    lines = [json.dumps([_plain(value) for value in row]) for row in rows]
    return hashlib.sha256("\n".join(lines if is_ordered else sorted(lines)).encode()).hexdigest()


def table(columns: list[str], rows: list[Row]) -> str:
    """The rows for the agent to read."""
    lines = [" | ".join(map(_cell, row)) for row in rows[:MAX_SHOWN_ROWS]]
    left_out = f"; the first {MAX_SHOWN_ROWS} are shown" if len(rows) > MAX_SHOWN_ROWS else ""
    text = "\n".join([" | ".join(columns), *lines])
    if len(text) > MAX_SHOWN_CHARS:
        text = text[:MAX_SHOWN_CHARS] + "\n… cut here"
    return f"{text}\n({len(rows)} rows{left_out})"


def _on_given(path: str, query: str) -> tuple[list[str], list[Row]]:
    with closing(open_given(path)) as connection:
        return run(connection, query)


def _json(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    return f"x'{value.hex()}'" if isinstance(value, bytes) else str(value)


def _allow(
    action: int, first: str | None, second: str | None, database: str | None, inner: str | None
) -> int:
    allowed = action in ACTIONS
    if action == sqlite3.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in BAD_FUNCTIONS
    elif action == sqlite3.SQLITE_PRAGMA:
        allowed = (first or "").lower() in READ_PRAGMAS
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _plain(value: object) -> object:
    """2 and 2.0 are the same answer, and so are numbers that differ beyond the sixth decimal."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 6)
    return value.hex() if isinstance(value, bytes) else value
