"""`molt/CodeRepair-v0`: a small Python project with a fault, mended by edits and judged by hidden calls.

In: calls of tools as JSON. Out: files and test reports; at the end, whether the code is right. On `submit`
the source files alone go into a sandbox that nobody used before, where hidden calls are evaluated. The right
results never enter it: they are compared outside.
"""

import numpy as np

from molt_envs.env import AgentEnv, EnvCard, Task, Turn
from molt_envs.families.code_repair.fresh import LIMITS, FreshSandboxes
from molt_envs.families.code_repair.policies import FirstSwap, random_edit, solver
from molt_envs.families.code_repair.project import Project
from molt_envs.families.code_repair.tasks import SPLITS, repair
from molt_envs.policy import FixedScript, Policy
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import Tool, Toolbox, call_grammar, show

SUMMARY = "Mend the fault in a small Python project by edits; hidden tests judge the source files"
SYSTEM_PROMPT = (
    "You mend a small Python project in which something is wrong. Look at its files, run its tests, change "
    "the code, and call submit when it is right. The code must do what its docstrings say for all arguments: "
    "it is judged by other tests, in a fresh copy into which only the package's own modules are taken."
)
GRAMMAR = call_grammar(ToolCall("run_tests", {}))


def submit() -> str:
    """Hand in the code, which ends the task."""
    return "submitted"


class CodeRepairEnv(AgentEnv):
    """One project with one bug.

    Args:
        backend: which sandboxes the code runs in.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi` or None.

    Raises:
        SandboxUnavailable: the backend cannot hold untrusted code here; says why and how to mend it.
    """

    def __init__(
        self, backend: str = "namespace", max_turns: int = 20, render_mode: str | None = None
    ) -> None:
        self._sandboxes = FreshSandboxes(backend)
        self._project = Project()
        work = self._project
        functions = work.list_files, work.read_file, work.edit_file, work.write_file, self.run_tests
        self._box = Toolbox([*map(Tool.of, functions), Tool.of(submit, ends=True)])
        limits = (0.0, 1.0), SPLITS, max_turns
        super().__init__(
            EnvCard(SUMMARY, SYSTEM_PROMPT, GRAMMAR, *limits, "tool", self._box.schemas), render_mode
        )

    def run_tests(self) -> str:
        """Run the functions test_… of the files tests/test_….py and see what fails."""
        result = self._sandboxes.run_tests(self._project.files)
        text = (result.stdout + result.stderr).decode("utf-8", "backslashreplace")
        if result.timed_out:
            return f"{text}stopped after {LIMITS.wall_s:g} s"
        return text if result.exit_code == 0 else f"{text}ended with exit code {result.exit_code}"

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._repair = repair(task.split, task.index)
        self._project.begin(self._repair.files)
        judged = ", ".join(self._repair.sources)
        return Turn(
            f"A test fails: find the fault in {self._repair.package} and mend it. Judged are {judged}."
        )

    def _act(self, action: str) -> Turn:
        results = self._box.run(action)
        if not results[-1].ended:
            return Turn(show(results))
        sources = {path: self._project.files[path] for path in self._repair.sources}
        outcomes = self._sandboxes.run_calls(sources, self._repair.calls)
        success = outcomes == self._repair.outcomes
        return Turn(show(results), float(success), True, float(success), success)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> FixedScript:
        """A policy that knows the bug; `noise`: how often a step goes wrong first."""
        task = self.running_task()
        return solver(self._repair, f"{seed} {task.task_id}", noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; the script turns around the first comparison of the failing module."""
        named: dict[str, Policy] = {"script": FirstSwap(), "random": random_edit(self._repair, seed)}
        return super().baselines(seed) | named

    def close(self) -> None:
        """Remove the sandbox."""
        self._sandboxes.close()
        super().close()
