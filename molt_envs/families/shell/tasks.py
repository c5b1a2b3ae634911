"""Tasks by name: a split and an index in, an instruction, files, the state that is wanted and a plan out."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from molt_envs.families.shell.draft import Draft, texts
from molt_envs.families.shell.state import Entry
from molt_envs.families.shell.templates import HELD_OUT, TRAINED

SPLITS = {"train": 3000, "validation": 300, "test": 300}


@dataclass(frozen=True)
class ShellTask:
    """One task."""

    kind: str
    """Name of its template."""
    instruction: str
    """What the agent is told."""
    start: Mapping[str, Entry]
    """The files at the start."""
    goal: Mapping[str, Entry]
    """The files that are wanted at the end; never in the sandbox."""
    commands: tuple[str, ...]
    """Commands that lead there."""


def shell_task(split: str, index: int) -> ShellTask:
    """The task; the same in every process."""
    rng = random.Random(f"{split}:{index}")
    templates = HELD_OUT if split == "test" else TRAINED
    template = templates[index % len(templates)]
    draft = Draft(split, rng)
    words, goal, commands = template(draft)
    instruction = rng.choice(texts("phrasings.json")[template.__name__]).format(**words)
    return ShellTask(template.__name__, instruction, dict(draft.files), goal, tuple(commands))
