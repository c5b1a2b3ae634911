"""The library: tests that pass, bugs that are noticed, splits that share no module."""

from __future__ import annotations

import itertools
import sys
from types import ModuleType

import pytest

from molt_envs.families.code_repair.library import MODULES, broken, bugs, module, outcomes
from molt_envs.families.code_repair.policies import edit
from molt_envs.families.code_repair.project_program import outcome
from molt_envs.families.code_repair.tasks import SPLITS, repair

NAMES = [name for names in MODULES.values() for name in names]


@pytest.mark.parametrize("name", NAMES)
def test_a_module_passes_its_tests_and_gives_the_recorded_outcomes(name: str) -> None:
    item = module(name)
    loaded = ModuleType(f"library_{name}")
    exec(item.code, vars(loaded))
    sys.modules[loaded.__name__] = loaded
    try:
        assert [outcome(loaded.__name__, call) for call in item.calls] == outcomes(name)
    finally:
        del sys.modules[loaded.__name__]
    names: dict[str, object] = {}
    exec(f"{item.code}\n{item.tests}", names)
    tests = [value for key, value in names.items() if key.startswith("test_") and callable(value)]
    assert tests
    for test in tests:
        test()


@pytest.mark.parametrize("name", NAMES)
def test_a_bug_changes_one_line_in_the_style_of_the_others(name: str) -> None:
    code = module(name).code
    for bug in bugs(name):
        wrong = broken(code, bug)
        pairs = zip(code.splitlines(), wrong.splitlines(), strict=True)
        assert [number for number, (a, b) in enumerate(pairs) if a != b] == [bug.line]
        assert wrong.count("'") == code.count("'")


def test_splits_share_no_module() -> None:
    for left, right in itertools.combinations(MODULES.values(), 2):
        assert not set(left) & set(right)


@pytest.mark.parametrize("split", SPLITS)
def test_a_project_has_one_bug_that_one_edit_mends(split: str) -> None:
    for index in range(40):
        task = repair(split, index)
        assert task == repair(split, index)
        assert set(task.modules) <= set(MODULES[split])
        old, new = edit(task)
        text = task.files[task.broken_path]
        assert text.count(old) == 1
        assert text.replace(old, new) == task.broken.code
        assert len(task.calls) == len(task.outcomes)


def test_no_file_of_a_project_holds_a_hidden_call() -> None:
    for index in range(40):
        task = repair("train", index)
        text = "\n".join(task.files.values())
        assert sum(call in text for _, call in task.calls) <= 2
