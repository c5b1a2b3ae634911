"""The same seed gives the same episode in other threads and processes, which leave no files behind.

In: a `Subject`. Out: `CheckFailed` where a rule does not hold. Other processes have other hash seeds, and a
working and a temporary folder of their own.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import gymnasium

from molt_envs.checks.attacks import ATTACKS
from molt_envs.checks.findings import NotShown, require
from molt_envs.checks.subject import Check, Factory, Play, Subject, baseline, oracle_of, play, script

NUM_SEEDS = 3
NUM_THREADS = 4
TIMEOUT_S = 300.0
PARTS = ("observation", "info", "reward", "end")
Digests = dict[str, list[list[str]]]


def digests(make: Factory) -> Digests:
    """A digest of each part of each turn of a few episodes, by the policy and the seed that made them."""
    env = make()
    found: Digests = {}
    for seed in range(NUM_SEEDS):
        policies = {"oracle": oracle_of(seed), "random": baseline("random", seed)}
        for name, policy in policies.items():
            found[f"{name}, seed {seed}"] = _digest(play(env, policy, seed=seed))
    for number, attack in enumerate(ATTACKS):
        found[f"attack {number}"] = _digest(play(env, script(attack), seed=number % NUM_SEEDS, num_most=2))
    env.close()
    return found


def answer() -> None:
    """The other process: what to make from standard input, digests and new files to standard output."""
    asked = json.load(sys.stdin)
    module, _, path = asked["entry_point"].partition(":")
    made = cast(Factory, attrgetter(path)(importlib.import_module(module)))
    with contextlib.redirect_stdout(sys.stderr):  # what the environment prints is no answer
        found = digests(partial(made, **asked["kwargs"]))
    json.dump(found, sys.stdout)


def _digest(one: Play) -> list[list[str]]:
    return [
        [hashlib.sha256(repr(part).encode("utf-8", "surrogatepass")).hexdigest()[:12] for part in turn]
        for turn in one.seen
    ]


def _require_same(one: Digests, two: Digests, where: str) -> None:
    for name, turns in one.items():
        others = two[name]
        for number, (mine, theirs) in enumerate(zip(turns, others, strict=False)):
            parts = [part for part, a, b in zip(PARTS, mine, theirs, strict=True) if a != b]
            require(not parts, f"{name}, turn {number}: another {' and '.join(parts)} {where}")
        require(len(turns) == len(others), f"{name}: {len(turns) - 1} turns, {len(others) - 1} {where}")


def _check_threads(subject: Subject) -> None:
    expected = digests(subject.make)
    with ThreadPoolExecutor(NUM_THREADS) as pool:
        runs = [pool.submit(digests, subject.make) for _ in range(NUM_THREADS)]
        for run in runs:
            _require_same(expected, run.result(TIMEOUT_S), f"in one of {NUM_THREADS} threads")


def _check_processes(subject: Subject) -> None:
    expected = digests(subject.make)
    for hash_seed, (found, _) in _elsewhere(subject).items():
        _require_same(expected, found, f"in a process with PYTHONHASHSEED={hash_seed}")


def _check_files(subject: Subject) -> None:
    left = sorted({file for _, files in _elsewhere(subject).values() for file in files})
    require(not left, f"after its episodes and close() there are {', '.join(left[:5])}")


@lru_cache(maxsize=1)
def _elsewhere(subject: Subject) -> Mapping[str, tuple[Digests, list[str]]]:
    """Digests from other processes by their hash seed, with the files that these left in their folders."""
    asked = json.dumps(_recipe(subject))
    program = "from molt_envs.checks.determinism import answer; answer()"
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in ["", *sys.path])
    found: dict[str, tuple[Digests, list[str]]] = {}
    for hash_seed in ("1", "2"):
        with tempfile.TemporaryDirectory() as folder:
            work, temporary = Path(folder, "work"), Path(folder, "tmp")
            work.mkdir()
            temporary.mkdir()
            variables = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": path, "TMPDIR": str(temporary)}
            process = subprocess.run(
                [sys.executable, "-c", program],
                input=asked,
                cwd=work,
                env=os.environ | variables | {"PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
            )
            last = process.stderr.strip().rpartition("\n")[2]
            require(process.returncode == 0, f"in another process it fails: {last}")
            files = [str(file.relative_to(folder)) for file in Path(folder).rglob("*") if file.is_file()]
            found[hash_seed] = (json.loads(process.stdout), files)
    return found


def _recipe(subject: Subject) -> dict[str, Any]:
    """How another process makes the environment."""
    spec = gymnasium.spec(subject.origin) if isinstance(subject.origin, str) else None
    target: object = subject.origin if spec is None else spec.entry_point
    if isinstance(target, type | FunctionType) and "<" not in target.__qualname__:
        target = f"{target.__module__}:{target.__qualname__}"
    if not isinstance(target, str) or target.startswith("__main__"):
        raise NotShown("another process cannot make it: give an id, or a class of an importable module")
    return {"entry_point": target, "kwargs": {} if spec is None else spec.kwargs}


CHECKS = (
    Check(
        "determinism",
        "same seed, same episode in other threads",
        _check_threads,
        "keep an episode's state in the environment, not in its class or module",
    ),
    Check(
        "determinism",
        "same seed, same episode in other processes",
        _check_processes,
        "sort sets before they are shown or drawn from; use neither hash(), id() nor unseeded randomness",
    ),
    Check(
        "determinism",
        "no files are left behind",
        _check_files,
        "write nothing, or into a TemporaryDirectory that close() removes; never run an action as code",
    ),
)
