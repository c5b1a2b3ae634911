"""Policies without the answer: one that cancels whatever it finds, and one that calls at random.

In: the observation with the instruction, or the tables. Out: actions.
"""

import random
import re
from collections.abc import Mapping
from typing import Any

from molt_envs.families.tool_calls.draft import call
from molt_envs.families.tool_calls.office import DAYS, Tables
from molt_envs.policy import FixedScript
from molt_envs.tools.calls import write_calls

FINISH = write_calls(call("finish"))


class CancelAll:
    """Looks up the first person and the file that the instruction names, and cancels every order it sees."""

    def __init__(self) -> None:
        self._turn = 0

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        self._turn += 1
        if self._turn == 1:
            who = re.search(r"[A-Z]\w+ [A-Z]\w+", observation)
            paths = re.findall(r"\w+/\w+\.txt", observation)
            self._clean = [call("delete_file", path=path) for path in paths]
            reads = [call("read_file", path=path) for path in paths]
            return write_calls(*reads, call("find_orders", customer=who[0] if who else ""))
        keys = dict.fromkeys(re.findall(r"O-\d+", observation))
        cancels = [call("cancel_order", order_id=key) for key in keys]
        return write_calls(*cancels[:12], *self._clean, call("finish")) if self._turn == 2 else FINISH


def random_calls(tables: Tables, tools: Mapping[str, list[str]], seed: int, num_calls: int) -> FixedScript:
    """Calls of any tools with arguments that exist, then the end.

    Args:
        tables: where the arguments come from.
        tools: names of arguments by tool.
        seed: fixes the choices.
        num_calls: before the last.
    """
    rng = random.Random(seed)
    pools: dict[str, list[Any]] = {"day": list(DAYS), "hour": [9, 10, 11], "quantity": [1, 2, 3]}
    pools |= {f"{table[:-1]}_id": list(rows) for table, rows in tables.items()}
    pools |= {name: list(tables["contacts"]) for name in ("customer", "name", "to")}
    pools |= {"path": list(tables["files"]), "attendees": [[name] for name in tables["contacts"]]}
    chosen = rng.choices(sorted(tools), k=num_calls)
    plan = [
        call(tool, **{name: rng.choice(pools.get(name, ["x/y"])) for name in tools[tool]}) for tool in chosen
    ]
    return FixedScript([*map(write_calls, plan), FINISH])
