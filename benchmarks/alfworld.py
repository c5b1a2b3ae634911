"""The household engine beside the `alfworld` package: the same games and commands, differences and speed.

Games are made from what the package ships, and each is played twice in both engines: by the expert until it
is done, and by random commands. Every observation, list of commands, score and done flag is compared, every
call timed. Finished games are kept in `alfworld_games.jsonl` beside the results and are not played again as
long as the engine's files stay the same. Needs `alfworld`; some 50 minutes of one core.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import CHECKOUT, record, results_dir
from molt_envs.families.alfworld.env import HouseholdEnv
from scripts.alfworld_games import GOAL_ROOMS, Source, make_game, write_game

NAME = "alfworld"
LEAST_GAMES, LEAST_STEPS = 200, 10_000
LEAST_STEP, LEAST_RESET = 1000.0, 500.0
NUM_GAMES, NUM_RANDOM = 204, 45
TYPES = tuple(GOAL_ROOMS)
JUNK = (
    "",
    "fly to the moon",
    "take apple 99 from fridge 1",
    "put a in/on b",
    "GO TO FRIDGE 1",
    "go to",
    " look ",
)
JUNK_SHARE = 0.05


@dataclass
class GameReport:
    """What came of one game."""

    game: int
    """Its number, which is also its seed."""
    task_type: str
    """Its type."""
    num_steps: int = 0
    """Commands given to both engines."""
    differences: list[str] = field(default_factory=list)
    """What differed; a game is left at its first difference."""
    done: bool = False
    """Whether the expert has done the task."""
    step_s: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Processor seconds in steps: the original's, ours."""
    reset_s: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Processor seconds in resets of a game that is loaded: the original's, ours."""
    num_resets: int = 0
    """Resets of both engines."""


def main() -> None:
    """Play what is not yet played, and report on all of it."""
    digest = engine_digest()
    file = results_dir() / "alfworld_games.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    reports = {report.game: report for report in _finished(file, digest)}
    original, source = original_env(), Source.load()
    for number in range(NUM_GAMES):
        if number not in reports:
            reports[number] = report = compare_game(original, source, number)
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(report) | {"digest": digest}) + "\n")
            print(number, report.task_type, report.num_steps, report.differences, flush=True)
    _record([reports[number] for number in range(NUM_GAMES)])


def original_env() -> Any:
    """The original's environment, as its own environments use it."""
    import textworld
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    from textworld.envs import PddlEnv

    wanted = textworld.EnvInfos(won=True, admissible_commands=True)
    return AlfredDemangler(PddlEnv(wanted), shuffle=False)


def compare_game(original: Any, source: Source, number: int, num_random: int = NUM_RANDOM) -> GameReport:
    """Make a game, and play it in both engines."""
    task_type = TYPES[number % len(TYPES)]
    report = GameReport(number, task_type)
    with tempfile.TemporaryDirectory() as folder:
        file = write_game(Path(folder), *make_game(source, task_type, number))
        arguments = sys.argv
        try:  # the original's planner overwrites the arguments of the process
            _compare(report, original, file, num_random)
        finally:
            sys.argv = arguments
    return report


def engine_digest() -> str:
    """Changes with what decides how a game goes, in the engine and in the maker of games."""
    family = CHECKOUT / "molt_envs" / "families" / "alfworld"
    files = [family / f"{name}.py" for name in ("world", "game", "pddl", "original")]
    files.append(CHECKOUT / "scripts" / "alfworld_games.py")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _compare(report: GameReport, original: Any, file: Path, num_random: int) -> None:
    original.load(str(file))
    own = HouseholdEnv(data_dir=file.parent, max_turns=1000)
    own.reset()  # reads the file, as `load` does
    for policy in (_expert, _random):
        commands = _compare_episode(report, original, own, policy(own, report.game, num_random))
        # ours is timed by itself: between two steps of the original it would find its caches cold
        _, reset_s = _timed(own.reset)
        _, step_s = _timed(lambda commands=commands: [own.step(command) for command in commands])
        report.reset_s[1] += reset_s
        report.step_s[1] += step_s
        report.num_resets += 1
        report.num_steps += len(commands)
        if report.differences:
            return
        if policy is _expert:
            report.done = bool(original.state["won"])


def _compare_episode(
    report: GameReport, original: Any, own: HouseholdEnv, policy: Iterator[str]
) -> list[str]:
    """The commands of an episode, up to its end or the first difference."""
    theirs, seconds = _timed(original.reset)
    report.reset_s[0] += seconds
    observation, info = own.reset()
    commands: list[str] = []
    seen = (theirs.feedback, list(theirs.admissible_commands))
    if not _same(report, "reset", seen, (observation, list(info["admissible_actions"]))):
        return commands
    for command in policy:
        commands.append(command)
        (theirs, score, done), seconds = _timed(original.step, command)
        report.step_s[0] += seconds
        observation, reward, terminated, _, info = own.step(command)
        seen = (theirs.feedback, list(theirs.admissible_commands), float(score), bool(done))
        shown = (observation, list(info["admissible_actions"]), reward, terminated)
        if not _same(report, command, seen, shown) or done:
            break
    return commands


def _expert(own: HouseholdEnv, seed: int, _: int) -> Iterator[str]:
    policy = own.oracle(seed)
    while (command := policy.act("", {})) != "look":
        yield command


def _random(own: HouseholdEnv, seed: int, num_random: int) -> Iterator[str]:
    """Commands that do something, each verb as often as any other, and now and then one that does nothing."""
    rng = random.Random(seed)
    for _ in range(num_random):
        by_verb: dict[str, list[str]] = {}
        for command in own.admissible():
            by_verb.setdefault(command.split()[0], []).append(command)
        junk = rng.random() < JUNK_SHARE
        yield rng.choice(JUNK) if junk else rng.choice(by_verb[rng.choice(sorted(by_verb))])


def _same(report: GameReport, command: str, original: object, own: object) -> bool:
    if original != own:
        report.differences.append(f"{command!r}: {original!r} against {own!r}"[:2000])
    return original == own


def _timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What a call returns, and its seconds of processor time, which other work does not lengthen."""
    start = time.thread_time()
    result = call(*arguments)
    return result, time.thread_time() - start


def _finished(file: Path, digest: str) -> Iterator[GameReport]:
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        row = json.loads(line)
        if row.pop("digest") == digest:
            yield GameReport(**row)


def _record(reports: list[GameReport]) -> None:
    num_steps = sum(report.num_steps for report in reports)
    num_resets = sum(report.num_resets for report in reports)
    differences = [f"game {report.game}: {text}" for report in reports for text in report.differences]
    by_type = {
        name: {
            "games": sum(report.task_type == name for report in reports),
            "steps": sum(report.num_steps for report in reports if report.task_type == name),
            "done by the expert": sum(report.done for report in reports if report.task_type == name),
        }
        for name in TYPES
    }
    enough = len(reports) >= LEAST_GAMES and num_steps >= LEAST_STEPS
    target = "0 differences in at least 200 games and 10,000 steps over all six types"
    details = {"num_games": len(reports), "num_steps": num_steps, "types": by_type, "first": differences[:10]}
    record(f"{NAME}.differences", target, len(differences), enough and not differences, details)
    for name, least, count in (("step", LEAST_STEP, num_steps), ("reset", LEAST_RESET, num_resets)):
        seconds = [report.step_s if name == "step" else report.reset_s for report in reports]
        theirs, own = (sum(pair[side] for pair in seconds) for side in (0, 1))
        details = {"original_ms": theirs / count * 1e3, "own_ms": own / count * 1e3, "num": count}
        target = f"a mean {name} is at least {least:.0f} times faster than the original's"
        record(f"{NAME}.{name}", target, theirs / own, theirs / own >= least, details)
