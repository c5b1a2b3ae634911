"""Which writings of an answer are the same."""

from __future__ import annotations

import pytest

from molt_envs.families.search_qa.answers import is_right, normal_form


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("the hollow bridge", "The Hollow Bridge"),
        (" The  Hollow-Bridge. ", "The Hollow Bridge"),
        ("Zoe Angstrom", "Zoë Ångström"),
        ("2729945", "2,729,945"),
        ("2 729 945", "2,729,945"),
        ("2’729’945", "2,729,945"),
        ("seven", "7"),
        ("a botanist", "botanist"),
        ('"Old Brinak"', "Old Brinak"),
        ("ＢＫＲＴ", "BKRT"),
    ],
)
def test_the_same(answer: str, accepted: str) -> None:
    assert is_right(answer, ["something else", accepted])


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("", "The"),
        ("the", "The"),
        ("...", "..."),
        ("1871 or 1872", "1871"),
        ("botanist, chemist", "botanist"),
        ("27,29", "2729"),
        ("2,729", "2729945"),
        ("Brinak", "Old Brinak"),
        ("x" * 2000, "y"),
    ],
)
def test_not_the_same(answer: str, accepted: str) -> None:
    assert not is_right(answer, [accepted])


def test_numbers_in_a_list_stay_apart() -> None:
    assert normal_form("1,2") == "1 2"
    assert normal_form("1,234,56") == "1234 56"
