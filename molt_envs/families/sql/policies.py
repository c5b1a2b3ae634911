"""Policies: one that knows the query, and two without skill.

In: the problem with its query, or what the environment shows. Out: actions.
"""

import random
import re
from collections.abc import Mapping
from typing import Any

from molt_envs.families.sql.problems import Problem
from molt_envs.policy import FixedScript
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import write_calls


def solver(problem: Problem, seed: str, noise: float) -> FixedScript:
    """Looks at the tables, tries the query and answers with it; `noise`: how often a step fails first."""
    rng = random.Random(seed)
    tables = re.findall(r"CREATE TABLE (\w+)", problem.given)
    steps = [*(_look(f"SELECT * FROM {table} LIMIT 3") for table in tables), _look(problem.query)]
    actions: list[str] = []
    for action in [*steps, answer(problem.query)]:
        if rng.random() < noise:
            query = problem.query
            actions.append(rng.choice([_look(query[: len(query) // 2]), _look(f"SELEC {query}"), "[]"]))
        actions.append(action)
    return FixedScript(actions)


class NamesAndCounts:
    """Answers each question with the persons' names and how many events each has, which many ask about."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        *_, persons, events = re.findall(r"CREATE TABLE (\w+)", observation) or ["a", "b"]
        key = re.search(rf"(\w+) INTEGER NOT NULL REFERENCES {persons}", observation)
        person_id = key[1] if key else "id"
        return answer(
            f"SELECT p.name, count(*) FROM {persons} p JOIN {events} e ON e.{person_id} = p.id GROUP BY p.id"
        )


def random_queries(problem: Problem, seed: int) -> FixedScript:
    """A column of a table out of the hat."""
    rng = random.Random(seed)
    table = rng.choice(re.findall(r"CREATE TABLE (\w+)", problem.given))
    return FixedScript([answer(f"SELECT {rng.choice(('id', 'name', 'count(*)'))} FROM {table}")])


def answer(query: str) -> str:
    """The action that answers."""
    return write_calls(ToolCall("answer", {"query": query}))


def _look(query: str) -> str:
    return write_calls(ToolCall("sql", {"query": query}))
