"""The original's game files: a folder of them in, splits and worlds out.

A game is a folder with `game.tw-pddl` (domain, grammar, problem) and the `traj_data.json` it was made from.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

from molt_envs.errors import DataError
from molt_envs.families.alfworld.pddl import read_problem
from molt_envs.families.alfworld.world import TASK_TYPES, World

GAME_FILE, TRAJECTORY_FILE = "game.tw-pddl", "traj_data.json"
SPLITS = {"train": "train", "valid_seen": "seen", "valid_unseen": "test"}
_TASK = re.compile(r'"Your task is to: ((?:[^"\\]|\\.)*)"')


def find_games(folder: Path) -> dict[str, tuple[Path, ...]]:
    """The game files below a folder by split, those of no named split in `train`.

    Left out, as in the original: movable receptacles, sliced things, and games marked as not solvable.

    Raises:
        DataError: there is no game, or a file is not a game.
    """
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.glob(f"**/{GAME_FILE}")):
        parts = file.relative_to(folder).parts
        if any("movable" in part or "Sliced" in part for part in parts):
            continue
        if _read(file).get("solvable") is not False:
            split = next((SPLITS[part] for part in parts if part in SPLITS), "train")
            found.setdefault(split, []).append(file)
    if not found:
        raise DataError(
            f"{folder}: no playable {GAME_FILE} below this folder; give the folder with the games"
        )
    return {split: tuple(files) for split, files in found.items()}


def read_game(file: Path) -> World:
    """One game.

    Raises:
        DataError: one of its two files is missing or wrong.
    """
    game = _read(file)
    trajectory_file = file.with_name(TRAJECTORY_FILE)
    task_type = _text(_read(trajectory_file), "task_type", trajectory_file)
    if task_type not in TASK_TYPES:
        raise DataError(
            f"{trajectory_file}: field task_type: {task_type!r} is none of {', '.join(TASK_TYPES)}"
        )
    problem, grammar = _text(game, "pddl_problem", file), _text(game, "grammar", file)
    task = _TASK.search(grammar)
    if task is None:
        raise DataError(f"{file}: record 0: field grammar: has no line 'Your task is to: …'")
    try:
        return read_problem(problem, task_type, str(json.loads(f'"{task.group(1)}"')))
    except ValueError as error:
        raise DataError(f"{file}: record pddl_problem: {error}") from error


def _read(file: Path) -> dict[str, object]:
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{file}: cannot be read as JSON: {error}") from error
    if not isinstance(record, dict):
        raise DataError(f"{file}: record 0: an object is needed, not {type(record).__name__}")
    return cast("dict[str, object]", record)


def _text(record: dict[str, object], name: str, file: Path) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise DataError(f"{file}: record 0: field {name}: text is needed, not {type(value).__name__}")
    return value
