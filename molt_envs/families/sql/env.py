"""`molt/SQL-v0`: questions over a generated database, answered by a query that must hold on another one too.

In: calls of `sql` and `answer` as JSON. Out: rows; at the end, whether the results are the right ones. The
agent's queries run in a sandbox: SQLite has no memory limit of its own, and some of its functions cannot be
stopped. The hidden database enters it with the last query, and the right results never do.
"""

import json
from pathlib import Path

import numpy as np

from molt_envs.env import AgentEnv, EnvCard, Task, Turn
from molt_envs.families.sql.database import tables
from molt_envs.families.sql.policies import NamesAndCounts, random_queries, solver
from molt_envs.families.sql.problems import SPLITS, problem
from molt_envs.families.sql.query_program import MAX_SQL_BYTES, database_file
from molt_envs.policy import FixedScript, Policy
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import Tool, Toolbox, ToolError, call_grammar, show
from molt_envs.tools.sandboxed import StartFile, Workspace
from sandboxes import WORK_FOLDER

SUMMARY = "Questions over a database, answered by a query that must be right on another database as well"
SYSTEM_PROMPT = (
    "Answer the question by one SQLite query. Try queries with the tool sql, which can only read; then call "
    "answer once with the final query. Its result must have the columns that the question asks for in that "
    "order, whatever they are called, and the rows in the order that is asked for, if one is. Do not round. "
    "Names are unique within their table; NULLs are left out of sums and averages. The query is also run on "
    "a second database with the same tables, the same cities and the same groups but other contents."
)
GRAMMAR = call_grammar(ToolCall("sql", {"query": "SELECT count(*) FROM orders"}))
GIVEN = "given.db"
PROGRAM = Path(__file__).with_name("query_program.py")
LOAD = f"""
import runpy
given = "{WORK_FOLDER}/{GIVEN}"
if "leash" not in globals():
    leash = runpy.run_path("{WORK_FOLDER}/{PROGRAM.name}")
"""


class SQLEnv(AgentEnv):
    """One question, ended by an answer.

    Args:
        backend: which sandboxes the queries run in.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi` or None.

    Raises:
        SandboxUnavailable: the backend cannot hold untrusted code here; says why and how to mend it.
    """

    def __init__(
        self, backend: str = "namespace", max_turns: int = 12, render_mode: str | None = None
    ) -> None:
        self._workspace = Workspace(backend)
        tools = [Tool.of(self._look, "sql"), Tool.of(self._answer, "answer", ends=True)]
        self._box = Toolbox(tools)
        card = EnvCard(
            SUMMARY, SYSTEM_PROMPT, GRAMMAR, (0.0, 1.0), SPLITS, max_turns, "tool", self._box.schemas
        )
        super().__init__(card, render_mode)

    def _look(self, query: str) -> str:
        """Run one SELECT on the database and see its first rows.

        Args:
            query: in SQLite's dialect.
        """
        return str(self._ask(f"print(leash['look'](given, {query!r}))", query)["text"])

    def _answer(self, query: str) -> str:
        """Give the final query, which ends the task; one that fails here may be mended.

        Args:
            query: one SELECT in SQLite's dialect.
        """
        call = f"leash['judge'](given, {query!r}, {self._problem.hidden!r}, {self._problem.is_ordered})"
        self._digests = self._ask(f"print({call})", query)["digests"]
        return "answered"

    def _ask(self, code: str, query: str) -> dict[str, object]:
        if len(query.encode()) > MAX_SQL_BYTES:
            raise ToolError(f"the query has {len(query.encode())} bytes; at most {MAX_SQL_BYTES} are read")
        printed = self._workspace.ask("python", LOAD + code)
        try:
            reply = json.loads(printed)
        except ValueError:
            raise ToolError("the database gave no readable reply; try another query") from None
        if "error" in reply:
            raise ToolError(str(reply["error"]))
        return reply

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._problem = problem(task.split, task.index)
        given = database_file(self._problem.given)
        files = {GIVEN: StartFile(given, 0o444), PROGRAM.name: StartFile(PROGRAM.read_bytes(), 0o444)}
        self._workspace.begin(files)
        return Turn(f"{self._problem.question}\n\n{tables(self._problem.schema)}")

    def _act(self, action: str) -> Turn:
        results = self._box.run(action)
        if not results[-1].ended:
            return Turn(show(results))
        self._workspace.end()
        success = self._digests == [*self._problem.digests]
        return Turn(show(results), float(success), True, float(success), success)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> FixedScript:
        """A policy that knows the query; `noise`: how often a step goes wrong first."""
        task = self.running_task()
        return solver(self._problem, f"{seed} {task.task_id}", noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; the script always answers with persons and the number of their events."""
        named: dict[str, Policy] = {"script": NamesAndCounts(), "random": random_queries(self._problem, seed)}
        return super().baselines(seed) | named

    def close(self) -> None:
        """Remove the sandbox."""
        self._workspace.close()
        super().close()
