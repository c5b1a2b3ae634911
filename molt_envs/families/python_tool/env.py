"""`molt/PythonTool-v0`: problems that need computing, with a Python interpreter in a sandbox.

In: calls of `python` and `answer` as JSON. Out: what the code printed; at the end, whether the number is
right. The answer is computed outside of the sandbox, and never enters it.
"""

import numpy as np

from molt_envs.env import AgentEnv, EnvCard, Task, Turn
from molt_envs.families.python_tool.policies import FirstGuess, Solver, random_answers
from molt_envs.families.python_tool.problems import SPLITS, problem
from molt_envs.policy import Policy
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import Tool, Toolbox, ToolError, call_grammar, show
from molt_envs.tools.python import python_tool
from molt_envs.tools.sandboxed import StartFile, Workspace

SUMMARY = "Problems that need computing, with a Python interpreter that keeps its state in an episode"
SYSTEM_PROMPT = (
    "Solve the problem with the tool python: an interpreter with the standard library that keeps its names "
    "from call to call, in a folder with the files that the problem names. A call may take 10 seconds. When "
    "you know the number, call answer once. A whole number has to be exact; where the true answer is not "
    "whole, a relative error of 0.0001 is allowed."
)
GRAMMAR = call_grammar(ToolCall("python", {"code": "sum(range(10))"}))
MAX_ANSWER_BITS = 1000


class PythonToolEnv(AgentEnv):
    """One problem, ended by an answer.

    Args:
        backend: which sandboxes the code runs in.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi` or None.

    Raises:
        SandboxUnavailable: the backend cannot hold untrusted code here; says why and how to mend it.
    """

    def __init__(self, backend: str = "zygote", max_turns: int = 12, render_mode: str | None = None) -> None:
        self._workspace = Workspace(backend)
        self._box = Toolbox([python_tool(self._workspace), Tool.of(self._answer, "answer", ends=True)])
        card = EnvCard(
            SUMMARY, SYSTEM_PROMPT, GRAMMAR, (0.0, 1.0), SPLITS, max_turns, "tool", self._box.schemas
        )
        super().__init__(card, render_mode)

    def _answer(self, value: float) -> str:
        """Give the answer, which ends the problem.

        Args:
            value: the number alone.
        """
        if isinstance(value, int) and value.bit_length() > MAX_ANSWER_BITS:
            raise ToolError(f"the number has {value.bit_length()} bits; at most {MAX_ANSWER_BITS} are read")
        self._value = value
        return "answered"

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._problem = problem(task.split, task.index)
        self._workspace.begin({name: StartFile(text.encode()) for name, text in self._problem.tables.items()})
        return Turn(self._problem.question)

    def _act(self, action: str) -> Turn:
        results = self._box.run(action)
        if not results[-1].ended:
            return Turn(show(results))
        self._workspace.end()
        success = self._problem.accepts(self._value)
        return Turn(show(results), float(success), True, float(success), success)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Solver:
        """A policy that computes the answer in the sandbox; `noise`: how often it slips first."""
        task = self.running_task()
        return Solver(self._problem, f"{seed} {task.task_id}", noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; the script computes with the numbers of the question, whatever it is."""
        return super().baselines(seed) | {"script": FirstGuess(), "random": random_answers(seed)}

    def close(self) -> None:
        """Remove the sandbox."""
        self._workspace.close()
        super().close()
