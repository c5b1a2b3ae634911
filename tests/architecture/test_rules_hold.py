"""The project keeps its own rules: imports, budgets, habits, and what no file may say."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.architecture import budget_rules
from tests.architecture.exemptions import BROAD_EXCEPTS, LONG_FUNCTIONS
from tests.architecture.import_rules import IMPORT_RULES
from tests.architecture.source import PACKAGES, Module, load_modules
from tests.architecture.text_rules import names_no_machine

CHECKOUT = Path(__file__).resolve().parents[2]
UNSHIPPED_CODE = ("benchmarks", "scripts")


@cache
def shipped() -> tuple[Module, ...]:
    return tuple(load_modules(CHECKOUT))


@cache
def written() -> tuple[Module, ...]:
    return tuple(load_modules(CHECKOUT, (*PACKAGES, *UNSHIPPED_CODE)))


def assert_none(violations: Iterator[str]) -> None:
    found = list(violations)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("rule", IMPORT_RULES, ids=lambda rule: rule.__name__)
def test_imports(rule: Callable[[Sequence[Module]], Iterator[str]]) -> None:
    assert_none(rule(shipped()))


def test_packages_fit_their_budgets() -> None:
    assert_none(budget_rules.packages_fit(shipped()))


def test_files_are_small() -> None:
    assert_none(budget_rules.files_fit(written()))


def test_functions_are_short() -> None:
    assert_none(budget_rules.functions_fit(written(), LONG_FUNCTIONS))


def test_getattr_is_rare() -> None:
    assert_none(budget_rules.getattr_is_rare(shipped()))


def test_no_module_is_a_dump() -> None:
    assert_none(budget_rules.no_dumps(load_modules(CHECKOUT, (*PACKAGES, *UNSHIPPED_CODE, "tests"))))


def test_excepts_are_narrow() -> None:
    assert_none(budget_rules.excepts_are_narrow(written(), BROAD_EXCEPTS))


def test_public_functions_are_annotated() -> None:
    assert_none(budget_rules.public_functions_are_annotated(shipped()))


def test_no_file_names_a_machine() -> None:
    assert_none(names_no_machine(tracked_texts()))


def test_all_packages_were_found() -> None:
    assert {module.name for module in shipped()} >= set(PACKAGES)


def tracked_texts() -> dict[str, str]:
    """Text of every tracked file; binary ones and the licence aside."""
    listed = subprocess.run(
        ["git", "-C", str(CHECKOUT), "ls-files", "-z"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout: which files belong to the project is unknown")
    texts: dict[str, str] = {}
    for name in filter(None, listed.stdout.split("\0")):
        file = CHECKOUT / name
        if file.is_file():
            data = file.read_bytes()
            if b"\0" not in data[:8192]:
                texts[name] = data.decode("utf-8", errors="replace")
    return texts
