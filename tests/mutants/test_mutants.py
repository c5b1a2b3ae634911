"""The list of mutants stays true, and the runner tells a killed mutant from one that lives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.mutants.__main__ import main
from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.verdicts import judge
from tests.shared_data import CHECKOUT


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_the_text_occurs_once_and_the_test_exists(mutant: Mutant) -> None:
    text = (CHECKOUT / mutant.file).read_text(encoding="utf-8")
    assert mutant.apply(text) != text
    path, function = mutant.test.partition("[")[0].split("::")
    tests = (CHECKOUT / path).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {re.escape(function)}\(", tests, re.MULTILINE)


def test_no_fault_and_no_name_is_listed_twice() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)


def test_a_mutant_that_changes_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="'same' changes nothing"):
        Mutant("same", "a.py", "x", "x", "test_a.py::test_a")


@pytest.mark.parametrize("text", ["x = 2", "x = 1\ny = 1"])
def test_a_text_that_does_not_occur_once_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"'one': its text occurs \d times in a.py"):
        Mutant("one", "a.py", "1", "2", "test_a.py::test_a").apply(text)


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-mutant"]) == 2
    assert "no mutant 'no-such-mutant'" in capsys.readouterr().out


def test_verdicts(tmp_path: Path) -> None:
    (tmp_path / "double.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "test_double.py").write_text(
        "from double import double\n\n\ndef test_two():\n    assert double(2) == 4\n\n\n"
        "def test_wrong():\n    assert double(2) == 5\n"
    )

    def mutant(new: str, test: str = "test_two") -> Mutant:
        return Mutant(new, "double.py", "2 * x", new, f"test_double.py::{test}")

    mutants = [mutant("3 * x"), mutant("x * x"), mutant("2 *"), mutant("3 * x", "test_wrong")]
    verdicts = list(judge(tmp_path, mutants))
    assert [verdict.mutant for verdict in verdicts] == mutants
    assert [verdict.killed for verdict in verdicts] == [True, False, False, False]
    assert "passes on the fault" in verdicts[1].reason
    assert "did not run: exit status 4" in verdicts[2].reason
    assert "without the fault the test gives exit status 1" in verdicts[3].reason
    assert (tmp_path / "double.py").read_text() == "def double(x):\n    return 2 * x\n"
