"""The list of mutants is in step with the code: each text occurs once, each test exists, names are unique."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.mutants.__main__ import ALL, main
from tests.mutants.mutant import Mutant
from tests.mutants.runner import ROOT, run_mutants


@pytest.mark.parametrize("mutant", ALL, ids=[mutant.name for mutant in ALL])
def test_its_text_occurs_once_and_its_test_exists(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert mutant.apply(text) != text
    path, _, test = mutant.test.partition("::")
    name = test.partition("[")[0]
    assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_names_are_unique() -> None:
    names = [mutant.name for mutant in ALL]
    assert len(names) == len(set(names))


def test_a_text_that_is_gone_is_named() -> None:
    gone = replace(ALL[0], old="no such text in the file")
    with pytest.raises(ValueError, match=rf"{gone.name}.*occurs 0 times in {gone.file}"):
        gone.apply("text")


def test_a_harmless_change_survives_and_a_fault_is_killed() -> None:
    test = "tests/molt_train/algorithms/test_shaping.py::test_the_mean_decides_not_the_extremes"
    file = "molt_train/algorithms/shaping.py"
    harmless = Mutant("harmless", file, "from __future__", "# a comment\nfrom __future__", test)
    fault = Mutant("fault", file, "sum(scores) / len(scores)", "max(scores)", test)
    assert [verdict.killed for verdict in run_mutants([harmless, fault])] == [False, True]


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-mutant"]) == 2
    assert "no mutant 'no-such-mutant'" in capsys.readouterr().out
