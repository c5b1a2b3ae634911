"""Tasks by name: a split and an index in, an instruction, a starting point and a plan out."""

import random
from dataclasses import dataclass

from molt_envs.families.tool_calls.draft import Draft, texts
from molt_envs.families.tool_calls.office import Tables
from molt_envs.families.tool_calls.templates import HELD_OUT, TRAINED
from molt_envs.protocol.messages import ToolCall

SPLITS = {"train": 6000, "validation": 600, "test": 600}


@dataclass(frozen=True)
class OfficeTask:
    """One errand."""

    kind: str
    """Name of its template."""
    instruction: str
    """What the agent is told."""
    start: Tables
    """The tables at the start; nobody changes them."""
    plan: tuple[ToolCall, ...]
    """Calls that carry it out."""


def office_task(split: str, index: int) -> OfficeTask:
    """The task; the same in every process."""
    rng = random.Random(f"{split}:{index}")
    templates = HELD_OUT if split == "test" else TRAINED
    template = templates[index % len(templates)]
    draft = Draft(split, rng)
    words, plan = template(draft)
    instruction = rng.choice(texts("phrasings.json")[template.__name__]).format(**words)
    return OfficeTask(template.__name__, instruction, draft.tables, tuple(plan))
