"""Ten million random and mutated actions over all environments: nothing undeclared is raised, nothing leaks.

A run takes at most `MOLT_FUZZ_S` seconds (default 600) and goes on where the last one stopped; what was done
is kept beside the results. Environments take turns, so that a run that is cut short has tried all of them.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import gymnasium

from benchmarks.report import record, results_dir
from molt_envs import AgentEnv, Failure, Task, boundary, entries
from molt_envs.checks.attacks import ATTACKS
from molt_envs.checks.subject import base_of, oracle_of, play

NAME = "fuzz"
NUM_ACTIONS = 10_000_000
SLICE_S = 5.0
NUM_EPISODES_A_TASK = 4
NUM_KEPT_FAILURES = 20
NUM_LONG_CHARS = 20_000
MOST_GROWTH_BYTES = 64 * 2**20
STATM = Path("/proc/self/statm")
PAGE_BYTES = 4096


@dataclass
class Progress:
    """What has been done with one environment, in all runs together."""

    num_actions: int = 0
    """Actions taken."""
    num_tasks: int = 0
    """Tasks begun; the next one's seed."""
    spent_s: float = 0.0
    """Time spent on it."""
    growth_bytes: int = 0
    """Most memory that one run gained after its warm-up."""
    failures: list[str] = field(default_factory=list[str])
    """What was raised, with the seed of its task; cut at `NUM_KEPT_FAILURES`."""


class Mutator:
    """Writes hostile actions, half of them near to what the environment takes.

    Args:
        rng: all its choices.
        example: an action that the environment takes.
    """

    def __init__(self, rng: random.Random, example: str) -> None:
        self._rng = rng
        self._pool = [example]

    def action(self, wanted: str, listed: tuple[str, ...]) -> str:
        """The next action.

        Args:
            wanted: what the oracle would do.
            listed: what the environment says it admits.
        """
        rng = self._rng
        kind = rng.random()
        if kind < 0.3:
            return wanted
        base = rng.choice(listed) if listed and rng.random() < 0.5 else rng.choice([wanted, *self._pool])
        if kind < 0.4:
            return base
        if kind < 0.5:
            return rng.choice(ATTACKS)[:NUM_LONG_CHARS]
        if kind < 0.55:
            return "".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(40)))
        if kind < 0.65:
            return json.dumps(self._json(3))
        for _ in range(rng.randrange(1, 4)):
            base = self._mutated(base)
        if len(base) < 500:
            self._pool = [*self._pool[-49:], base]
        return base

    def _mutated(self, text: str) -> str:
        rng = self._rng
        at, to = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        match rng.randrange(8):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + text[at:to] * 2 + text[to:]
            case 2:
                text = text[:at] + rng.choice("[]{}\"'\\:,<>|\0\n\u202e\ud800é9-") + text[at:]
            case 3:
                other = rng.choice(self._pool)
                text = text[:at] + other[rng.randrange(len(other) + 1) :]
            case 4:
                text = text[:at] + rng.choice(ATTACKS)[:200] + text[to:]
            case 5:
                text = text.swapcase()
            case 6:
                text = text[::-1]
            case _:
                words = text.split()
                text = " ".join(rng.sample(words, len(words)))
        return text[:NUM_LONG_CHARS]

    def _json(self, depth: int) -> Any:
        rng = self._rng
        kind = rng.randrange(8 if depth else 6)
        if kind == 6:
            return [self._json(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 7:
            keys = ["name", "arguments", "id", rng.choice(self._pool)[:30]]
            return {rng.choice(keys): self._json(depth - 1) for _ in range(rng.randrange(4))}
        numbers = [None, True, rng.randrange(-(10**9), 10**9), rng.random() * 10 ** rng.randrange(300)]
        return [*numbers, rng.choice(self._pool), ""][kind]


def main() -> None:
    """Fuzz until all actions are done or the time is over; record what was raised and what memory grew."""
    stop = time.monotonic() + float(os.environ.get("MOLT_FUZZ_S", "600"))
    goal = int(os.environ.get("MOLT_FUZZ_ACTIONS", str(NUM_ACTIONS)))
    chosen = [entry.env_id for entry in entries() if entry.source == "molt-envs"]
    done = _load()
    fuzzers = {env_id: Fuzzer(env_id, done.setdefault(env_id, Progress())) for env_id in chosen}
    while (num_done := sum(done[env_id].num_actions for env_id in chosen)) < goal and time.monotonic() < stop:
        env_id = min(chosen, key=lambda env_id: done[env_id].spent_s * fuzzers[env_id].cost)
        fuzzers[env_id].run(min(stop, time.monotonic() + SLICE_S), goal - num_done)
        _save(done)
        print(f"\r{num_done:,} of {goal:,} actions; {env_id}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    here = {env_id: done[env_id] for env_id in chosen}
    num_actions = sum(progress.num_actions for progress in here.values())
    failures = [f"{env_id}: {text}" for env_id, progress in here.items() for text in progress.failures]
    growth_bytes = max(progress.growth_bytes for progress in here.values())
    details = {env_id: asdict(progress) for env_id, progress in here.items()}
    record(f"{NAME}.actions", f"{goal:,} hostile actions", num_actions, num_actions >= goal, details)
    record(f"{NAME}.failures", "nothing undeclared is raised", len(failures), not failures, {"all": failures})
    record(
        f"{NAME}.memory",
        f"no environment grows by more than {MOST_GROWTH_BYTES // 2**20} MiB after a run's first slice",
        growth_bytes / 2**20,
        growth_bytes <= MOST_GROWTH_BYTES,
    )


class Fuzzer:
    """Plays one environment with hostile actions.

    Args:
        env_id: which.
        progress: where it stands; updated in place.
    """

    def __init__(self, env_id: str, progress: Progress) -> None:
        self._env_id = env_id
        self._progress = progress
        self._env = base_of(gymnasium.make(env_id))
        # The quick ones get four times the time of those that run a compiler or a sandbox.
        self.cost = 1 if self._env.card.bounded else 4
        self._growth_bytes: int | None = None

    def run(self, until: float, num_most: int) -> None:
        """Take actions until the clock says so, or `num_most` are taken."""
        progress, first, start = self._progress, self._progress.num_actions, time.monotonic()
        before_bytes = _rss_bytes()
        while time.monotonic() < until and progress.num_actions - first < num_most:
            seed = progress.num_tasks
            progress.num_tasks += 1
            with boundary() as result:
                self._episodes(self._env, seed, num_most - progress.num_actions + first)
            if result.failure is not None:
                self._note(result.failure, seed)
        progress.spent_s += time.monotonic() - start
        gc.collect()
        grown_bytes = _rss_bytes() - before_bytes
        # Its first slice of a run fills caches; what comes after is growth.
        self._growth_bytes = 0 if self._growth_bytes is None else self._growth_bytes + grown_bytes
        progress.growth_bytes = max(progress.growth_bytes, self._growth_bytes)

    def _episodes(self, env: AgentEnv, seed: int, num_most: int) -> None:
        """A task as the oracle plays it, then the same task a few times with hostile actions."""
        rng = random.Random(f"{self._env_id} {seed}")
        mutator = Mutator(rng, env.card.grammar.example)
        split = rng.choice(list(env.card.splits))
        task = Task(split, rng.randrange(env.card.splits[split]))
        plan = play(env, oracle_of(seed), task).actions
        num_taken = 0
        for _ in range(NUM_EPISODES_A_TASK):
            _, info = env.reset(seed=seed, options={"task_id": task.task_id})
            coming, over = list(plan), False
            while not over and num_taken < num_most:
                wanted = coming[0] if coming else plan[-1]
                action = mutator.action(wanted, tuple(info.get("admissible_actions") or ()))
                if action == wanted and coming:
                    coming.pop(0)
                num_taken += 1
                self._progress.num_actions += 1
                _, _, terminated, truncated, info = env.step(action)
                over = terminated or truncated

    def _note(self, failure: Failure, seed: int) -> None:
        # A PolicyError is declared: the episode then counts as failed by the policy.
        if failure.outcome == "unresolved" and len(self._progress.failures) < NUM_KEPT_FAILURES:
            self._progress.failures.append(f"seed {seed}: {failure.reason}")


def _rss_bytes() -> int:
    """Resident memory, 0 where the system does not tell."""
    return int(STATM.read_text().split()[1]) * PAGE_BYTES if STATM.exists() else 0


def _state_file() -> Path:
    return results_dir() / "fuzz-state.json"


def _load() -> dict[str, Progress]:
    if not _state_file().exists():
        return {}
    rows = json.loads(_state_file().read_text(encoding="utf-8"))
    return {env_id: Progress(**row) for env_id, row in rows.items()}


def _save(done: dict[str, Progress]) -> None:
    results_dir().mkdir(parents=True, exist_ok=True)
    rows = {env_id: asdict(progress) for env_id, progress in done.items()}
    _state_file().write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
