"""The benchmark runner, over a copy of it that holds made-up benchmarks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.report import record, results

CHECKOUT = Path(__file__).resolve().parents[2]
STEPS = """record("quick.steps", "at most 5 ms", 1.25, True, {"runs": 3}); """
BENCHMARKS = {
    "quick": STEPS + "record('quick.memory', '2', 1, True)",
    "slow": """record("slow", "at most 1 s", 2.5, False)""",
    "broken": """raise ValueError("no such thing")""",
    "silent": """pass""",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name in ("__init__", "__main__", "report"):
        shutil.copy(CHECKOUT / "benchmarks" / f"{name}.py", folder)
    for name, body in BENCHMARKS.items():
        head = f'"""The {name} one."""\nfrom benchmarks.report import record\nNAME = "{name}"\n'
        (folder / f"{name}.py").write_text(f"{head}def main():\n    {body}\n", encoding="utf-8")
    return tmp_path


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The runner's answer, in the copy."""
    environment = {
        name: value for name, value in os.environ.items() if name not in {"MOLT_PROVE_DIR", "PYTHONPATH"}
    }
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_list_names_benchmarks_and_nothing_else(copy: Path) -> None:
    assert [line.split()[0] for line in run(copy, "list").stdout.splitlines()] == [
        "broken",
        "quick",
        "silent",
        "slow",
    ]


def test_rows_are_written_with_the_commit(copy: Path) -> None:
    assert run(copy, "quick").returncode == 0
    row = json.loads((copy / "build" / "prove" / "quick.steps.json").read_text(encoding="utf-8"))
    assert row.pop("commit") == "unknown"
    assert row == {
        "name": "quick.steps",
        "target": "at most 5 ms",
        "measured": 1.25,
        "ok": True,
        "details": {"runs": 3},
    }


def test_missed_target_fails_the_run(copy: Path) -> None:
    answer = run(copy, "slow")
    assert answer.returncode == 1
    assert answer.stdout == "FAIL  slow: 2.5 (target: at most 1 s)\n"


def test_benchmark_without_a_row_fails(copy: Path) -> None:
    answer = run(copy, "silent")
    assert answer.returncode == 1
    assert "recorded no row" in answer.stderr


def test_old_rows_do_not_count(copy: Path) -> None:
    (copy / "build" / "prove").mkdir(parents=True)
    (copy / "build" / "prove" / "silent.json").write_text('{"ok": true}', encoding="utf-8")
    assert run(copy, "silent").returncode == 1


def test_failing_benchmark_does_not_stop_the_others(copy: Path) -> None:
    answer = run(copy, "broken", "quick")
    assert answer.returncode == 1
    assert "FAIL     broken: ended with status 1" in answer.stdout
    assert "PASS     quick.steps: 1.25 (at most 5 ms)" in answer.stdout


def test_unknown_name_gets_a_suggestion(copy: Path) -> None:
    answer = run(copy, "quik")
    assert answer.returncode == 2
    assert answer.stderr == "There is no benchmark 'quik': did you mean 'quick'?\n"


def test_names_of_rows_are_checked() -> None:
    with pytest.raises(ValueError, match="use lower-case"):
        record("../escape", "none", 1, True)


def test_rows_are_found_by_benchmark(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(copy, "quick")
    monkeypatch.setenv("MOLT_PROVE_DIR", str(copy / "build" / "prove"))
    assert [row["name"] for row in results("quick")] == ["quick.memory", "quick.steps"]
    assert results("qui") == []
