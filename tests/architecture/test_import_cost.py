"""Importing the hub is quick, quiet and free of torch, in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
HEAVY = ["torch", "transformers", "vllm", "ray", "pyarrow", "molt_train"]
PROBE = f"""
import json, sys, time
before = time.perf_counter()
import molt_envs
spent_s = time.perf_counter() - before
heavy = [name for name in {HEAVY!r} if name in sys.modules]
families = [name for name in sys.modules if name.startswith("molt_envs.families.")]
print(json.dumps({{"spent_s": spent_s, "heavy": heavy, "families": families}}))
"""
# The promise is .5 s on an idle machine and has a benchmark; here only a fault of another size is caught.
GENEROUS_S = 5.0


def probe(folder: Path) -> tuple[str, str]:
    process = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={"PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return process.stdout, process.stderr


def test_import_loads_nothing_heavy_and_no_family(tmp_path: Path) -> None:
    answer = json.loads(probe(tmp_path)[0])
    assert answer["heavy"] == []
    assert answer["families"] == []


def test_import_prints_and_writes_nothing(tmp_path: Path) -> None:
    out, err = probe(tmp_path)
    assert len(out.splitlines()) == 1
    assert err == ""
    assert list(tmp_path.iterdir()) == []


def test_import_takes_no_minutes(tmp_path: Path) -> None:
    started = time.monotonic()
    answer = json.loads(probe(tmp_path)[0])
    assert answer["spent_s"] < GENEROUS_S, f"whole process: {time.monotonic() - started:.1f} s"
