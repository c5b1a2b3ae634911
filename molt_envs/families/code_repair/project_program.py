"""What runs in a sandbox on an agent's project: its own tests, or calls whose results are judged outside.

It is given to an interpreter as text, so it imports the standard library alone, and it holds no secrets: the
right results of the calls stay outside.
"""

import importlib
import json
import os
import sys
import traceback
from typing import cast

MAX_SHOWN_FAULT_CHARS = 600


def run_tests(files: dict[str, str]) -> None:
    """Run the functions `test_…` of the files `tests/test_….py`; print which fail, how, and how many."""
    _write(files)
    num_passed = num_failed = 0
    for path in sorted(files):
        if not (path.startswith("tests/test_") and path.endswith(".py")):
            continue
        try:
            found = vars(importlib.import_module(path[: -len(".py")].replace("/", ".")))
            tests = [(name, value) for name, value in found.items() if name.startswith("test_")]
        except BaseException as error:
            num_failed += 1
            print(f"FAILED {path}::import\n{_told(error)}", flush=True)
            continue
        for name, test in tests:
            try:
                test()
                num_passed += 1
            except BaseException as error:
                num_failed += 1
                print(f"FAILED {path}::{name}\n{_told(error)}", flush=True)
    print(f"{num_failed} failed, {num_passed} passed")


def run_calls(files: dict[str, str], calls: list[tuple[str, str]]) -> None:
    """Evaluate expressions among the names of modules; the last line printed is JSON, an outcome for each."""
    _write(files)
    outcomes = [outcome(module, expression) for module, expression in calls]
    print("\n" + json.dumps(outcomes), flush=True)


def outcome(module: str, expression: str) -> str:
    """The value as text, or which error it raises."""
    try:
        names = dict(vars(importlib.import_module(module)))
        value: object = eval(expression, names)
        if isinstance(value, dict):
            items = cast("dict[object, object]", value).items()
            return f"dict {sorted(map(repr, items))}"  # in whatever order it was filled
        return repr(value)
    except BaseException as error:
        return f"raises {type(error).__name__}"


def _write(files: dict[str, str]) -> None:
    for path, text in files.items():
        full = os.path.abspath(path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, os.getcwd())
    sys.dont_write_bytecode = True
    sys.setrecursionlimit(1000)


def _told(error: BaseException) -> str:
    """The last lines of the traceback, with the line of source that failed."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-3))
    return text[-MAX_SHOWN_FAULT_CHARS:].rstrip() + "\n"
