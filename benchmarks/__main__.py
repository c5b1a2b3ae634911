"""Run benchmarks: names in (none: all of them), their rows, a table and an exit status out.

One name runs in this process. Several run each in a process of its own, so that none sees another's memory,
threads or caches; one that fails does not keep the others from running.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import subprocess
import sys
from pathlib import Path

from benchmarks.report import results, results_dir

FOLDER = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    """List or run; 0 where every claim holds, 1 where one does not, 2 for a name that does not exist."""
    known = benchmark_names()
    if arguments == ["list"]:
        for name in known:
            print(f"{name:<24} {summary(name)}")
        return 0
    unknown = [name for name in arguments if name not in known]
    if unknown:
        close = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "`python -m benchmarks list` names them."
        print(f"There is no benchmark {unknown[0]!r}: {hint}", file=sys.stderr)
        return 2
    if len(arguments) == 1:
        return run_here(arguments[0])
    return run_each(arguments or known)


def benchmark_names() -> list[str]:
    """Every module of this folder that assigns `NAME`, without importing any."""
    return sorted(file.stem for file in FOLDER.glob("*.py") if "NAME" in _assigned(file))


def summary(name: str) -> str:
    """The first line of a benchmark's docstring."""
    return (ast.get_docstring(_tree(FOLDER / f"{name}.py")) or "").partition("\n")[0]


def run_here(name: str) -> int:
    """Run one benchmark in this process; its old rows are removed first, so that only this run's count."""
    for old in [*results_dir().glob(f"{name}.json"), *results_dir().glob(f"{name}.*.json")]:
        old.unlink()
    module = importlib.import_module(f"benchmarks.{name}")
    if name != module.NAME:
        raise ValueError(
            f"benchmarks/{name}.py says NAME = {module.NAME!r}: it has to be the module's own name"
        )
    module.main()
    rows = results(name)
    if not rows:
        print(f"{name} recorded no row: call benchmarks.report.record", file=sys.stderr)
    return 0 if rows and all(row["ok"] for row in rows) else 1


def run_each(names: list[str]) -> int:
    """Run several benchmarks one after another and print the table of their rows."""
    statuses = {
        name: subprocess.run([sys.executable, "-m", "benchmarks", name], cwd=FOLDER.parent) for name in names
    }
    print("\nverdict  claim: measured (target)")
    for name, process in statuses.items():
        rows = results(name)
        for row in rows:
            print(f"{'PASS' if row['ok'] else 'FAIL'}     {row['name']}: {row['measured']} ({row['target']})")
        if process.returncode and all(row["ok"] for row in rows):
            print(f"FAIL     {name}: ended with status {process.returncode}")
    return 1 if any(process.returncode for process in statuses.values()) else 0


def _assigned(file: Path) -> set[str]:
    targets = [target for node in _tree(file).body if isinstance(node, ast.Assign) for target in node.targets]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
