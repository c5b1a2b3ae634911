"""What a query may do, and which results are equal."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from molt_envs.families.sql import query_program as leash

SCRIPT = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO t VALUES (1, 'a'), (2, 'b');"


def rows(query: str) -> list[leash.Row]:
    with closing(leash.open_script(SCRIPT)) as connection:
        return leash.run(connection, query)[1]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM t",
        "UPDATE t SET name = 'c'",
        "INSERT INTO t VALUES (3, 'c')",
        "CREATE TABLE u (x)",
        "CREATE TEMP TABLE u (x)",
        "DROP TABLE t",
        "ATTACH '/etc/passwd' AS other",
        "VACUUM INTO '/tmp/copy.db'",
        "PRAGMA query_only = 0",
        "PRAGMA writable_schema = 1",
        "PRAGMA temp_store_directory = '/tmp'",
        "SELECT load_extension('libm.so')",
        "SELECT random()",
        "SELECT 1; DELETE FROM t",
        "BEGIN",
        "",
        "SELEC 1",
        "SELECT zeroblob(10)",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "SELECT replace(printf('%.90000c', 'a'), 'a', 'aaaa')",
        f"SELECT '{'x' * leash.MAX_SQL_BYTES}'",
    ],
)
def test_all_but_a_small_select_is_refused_in_words(query: str) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        rows(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT date('now')",
        "SELECT date()",
        "SELECT strftime('%s')",
        "SELECT strftime('%s', 'N' || 'ow')",
        "SELECT julianday('NOW', '+1 day')",
        "SELECT unixepoch()",
        "SELECT current_timestamp",
        "SELECT CURRENT_DATE FROM t",
    ],
)
def test_no_query_reads_the_clock(query: str) -> None:
    with pytest.raises(ValueError, match=r"clock|not authorized"):
        rows(query)


def test_dates_that_are_given_are_what_sqlite_makes_of_them() -> None:
    query = "SELECT strftime('%Y', '2021-03-04'), date('2021-03-04', '+1 day'), julianday('2021-03-04')"
    with closing(sqlite3.connect(":memory:")) as plain:
        assert rows(query) == plain.execute(query).fetchall()


def test_reading_is_allowed() -> None:
    assert rows("SELECT name FROM t ORDER BY id") == [("a",), ("b",)]
    assert [row[1] for row in rows("PRAGMA table_info(t)")] == ["id", "name"]
    assert rows(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT sum(i) FROM n"
    )


def test_a_database_file_is_read_only(tmp_path: Path) -> None:
    path = tmp_path / "given.db"
    path.write_bytes(leash.database_file(SCRIPT))
    with closing(leash.open_given(str(path))) as connection:
        assert leash.run(connection, "SELECT count(*) FROM t")[1] == [(2,)]
        connection.set_authorizer(None)
        connection.execute("PRAGMA query_only = 0")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM t")


@pytest.mark.parametrize(
    ("left", "right", "is_ordered", "equal"),
    [
        ([(1,), (2,)], [(2,), (1,)], False, True),
        ([(1,), (2,)], [(2,), (1,)], True, False),
        ([(1,), (1,)], [(1,)], False, False),
        ([(2,)], [(2.0,)], True, True),
        ([(0.1 + 0.2,)], [(0.3,)], True, True),
        ([(1,)], [("1",)], True, False),
        ([("a", "b")], [("b", "a")], False, False),
        ([(None,)], [("None",)], False, False),
        ([(float("inf"),)], [(1e308,)], False, False),
    ],
)
def test_equal_results_have_equal_digests(
    left: list[leash.Row], right: list[leash.Row], is_ordered: bool, equal: bool
) -> None:
    assert (leash.digest(left, is_ordered) == leash.digest(right, is_ordered)) is equal


def test_an_error_on_the_hidden_database_alone_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "given.db"
    path.write_bytes(leash.database_file(SCRIPT))
    hidden = SCRIPT + "INSERT INTO t VALUES (3, 'c');"
    fails_there = "SELECT CASE WHEN count(*) > 2 THEN abs(-9223372036854775808) END FROM t"
    assert [*json.loads(leash.judge(str(path), fails_there, hidden, False))] == ["digests"]
    assert [*json.loads(leash.judge(str(path), "SELECT nothing FROM t", hidden, False))] == ["error"]


def test_long_results_are_cut() -> None:
    text = leash.table(["x"], [("y" * 1000,)] * 70)
    assert len(text) < leash.MAX_SHOWN_CHARS + 100
    assert text.endswith("(70 rows; the first 50 are shown)")
