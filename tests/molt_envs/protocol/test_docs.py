"""The protocol's page: every example in it runs, every table in it is complete."""

from __future__ import annotations

import dataclasses
import doctest
from typing import get_args

from molt_envs import Outcome, Segment, StopReason
from tests.shared_data import CHECKOUT

PAGE = CHECKOUT / "docs" / "protocol.md"


def test_the_examples_run() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 25
    assert result.failed == 0


def test_every_field_of_a_segment_is_in_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [field.name for field in dataclasses.fields(Segment) if f"| `{field.name}` |" not in text]
    assert missing == []


def test_every_outcome_and_stop_reason_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in get_args(Outcome) if f"| `{name}` |" not in text] == []
    assert [name for name in get_args(StopReason) if f"`{name}`" not in text] == []
