"""The program that runs what an agent asks for, here without a sandbox, on code of our own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from molt_envs.tools.sandboxed import PROGRAM


def replies(*codes: str) -> list[str]:
    """What each piece of code gives, in one interpreter."""
    requests = [{"id": number, "kind": "python", "text": code} for number, code in enumerate(codes)]
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-u", "-c", PROGRAM.read_text("utf-8")],
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    ready, *answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert ready == {"ready": True}
    assert [answer["id"] for answer in answers] == list(range(len(codes)))
    return [answer["output"] for answer in answers]


def test_names_are_kept() -> None:
    assert replies("x = 6", "print(x * 7)") == ["", "42\n"]


def test_the_last_value_is_shown_if_there_is_one() -> None:
    assert replies("'a'", "1; 2", "[].append(3)", "x = 4", "for _ in (1, 2): 5") == [
        "'a'\n",
        "2\n",
        "",
        "",
        "",
    ]


def test_a_traceback_shows_the_agents_line_and_none_of_ours() -> None:
    (output,) = replies("y = 0\n1 / y")
    assert "1 / y" in output and output.endswith("ZeroDivisionError: division by zero\n")
    assert output.count("File ") == 1


def test_output_and_errors_come_in_their_order() -> None:
    output = replies("import os, sys\nprint(1)\nprint(2, file=sys.stderr)\nos.write(1, b'3')\nprint(4)")
    assert output == ["1\n2\n34\n"]


def test_what_cannot_be_compiled_is_told() -> None:
    outputs = replies("def f(:", "'\0'", "(" * 3000 + ")" * 3000, "\ud800")
    assert all("Error" in output for output in outputs)


def test_leaving_leaves_the_interpreter_alive() -> None:
    outputs = replies("x = 1; import sys; sys.exit(3)", "x")
    assert outputs == ["SystemExit: 3; the interpreter goes on\n", "1\n"]


def test_nothing_can_be_typed_in() -> None:
    assert "EOFError" in replies("input()")[0]


def test_closed_or_replaced_streams_are_mended_for_the_next_call() -> None:
    codes = (
        "import os; os.close(1); os.close(2); print(1)",
        "print(2)",
        "import sys; sys.stdout = None",
        "3",
    )
    assert replies(*codes)[1:] == ["2\n", "", "3\n"]


def test_long_output_keeps_its_start_and_its_end() -> None:
    (output,) = replies("print('a' * 30_000 + 'b' * 30_000)")
    assert output.startswith("aaa") and output.endswith("bbb\n")
    assert "… 40001 of 60001 bytes left out …" in output and len(output) < 21_000


def test_bytes_that_are_no_text_are_escaped() -> None:
    assert replies("import os; n = os.write(1, bytes([255, 0, 65]))") == ["\\xff\0A"]


def test_output_of_children_is_shown() -> None:
    code = "import subprocess; done = subprocess.run(['echo', 'child'])"
    assert replies(code) == ["child\n"]


def test_the_replies_channel_is_not_inherited() -> None:
    listed: Any = replies("import subprocess; r = subprocess.run(['ls', '/proc/self/fd'])")[0].split()
    assert set(listed) <= {"0", "1", "2", "3"}  # the last is the listed folder itself
