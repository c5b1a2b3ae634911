"""The demonstration: its folder and its table."""

from __future__ import annotations

from pathlib import Path

from molt_train.demo import free_folder


def test_a_demo_can_be_run_again_beside_the_first(tmp_path: Path) -> None:
    first = tmp_path / "demo"
    assert free_folder(str(first)) == str(first)
    first.mkdir()
    assert free_folder(str(first)) == str(first)
    (first / "metrics.jsonl").touch()
    assert free_folder(str(first)) == f"{first}-2"
    (tmp_path / "demo-2").mkdir()
    (tmp_path / "demo-2" / "model").mkdir()
    assert free_folder(str(first)) == f"{first}-3"
