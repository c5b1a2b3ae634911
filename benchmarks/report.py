"""One row for each measured claim: target, value and verdict in, a printed line and a JSON file out."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
RESULTS_ENV = "MOLT_PROVE_DIR"

Measured = float | int | str | bool | None


def record(
    name: str, target: str, measured: Measured, ok: bool, details: Mapping[str, object] | None = None
) -> None:
    """Print one row and write it to `build/prove/NAME.json`, with the commit it was measured on.

    `name` is the benchmark's name, or `benchmark.claim` where it makes several claims; `target` says in words
    what is promised, with its unit; `details` is whatever else belongs beside the number and JSON can hold.
    """
    if not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)?", name):
        raise ValueError(f"benchmark row {name!r}: use lower-case `benchmark` or `benchmark.claim`")
    shown = f"{measured:.4g}" if isinstance(measured, float) else str(measured)
    print(f"{'PASS' if ok else 'FAIL'}  {name}: {shown} (target: {target})", flush=True)
    row = {
        "name": name,
        "target": target,
        "measured": measured,
        "ok": bool(ok),
        "commit": commit(),
        "details": dict(details or {}),
    }
    folder = results_dir()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(row, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def results_dir() -> Path:
    """Where rows are written: the folder in `MOLT_PROVE_DIR`, or `build/prove` in the checkout."""
    return Path(os.environ.get(RESULTS_ENV) or CHECKOUT / "build" / "prove")


def results(benchmark: str) -> list[dict[str, object]]:
    """The rows that lie on disk for one benchmark, in the order of their names."""
    files = [*results_dir().glob(f"{benchmark}.json"), *sorted(results_dir().glob(f"{benchmark}.*.json"))]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def commit() -> str:
    """The checkout's commit, with `+changes` where tracked files differ from it; "unknown" outside of git."""
    answers: list[str] = []
    for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"]):
        try:
            answer = subprocess.run(
                ["git", "-C", str(CHECKOUT), *command], capture_output=True, text=True, check=True, timeout=30
            )
        except (OSError, subprocess.SubprocessError):
            return "unknown"
        answers.append(answer.stdout.strip())
    return answers[0] + ("+changes" if answers[1] else "")
