"""`molt/Shell-v0`: a terminal in a small file system in a sandbox, judged by its final state.

In: calls of `shell` and `submit` as JSON. Out: what the commands printed; at the end, whether the files are
exactly as wanted. They are read when the agent's processes have been ended, by a program of our own.
"""

import numpy as np

from molt_envs.env import AgentEnv, EnvCard, Task, Turn
from molt_envs.families.shell.policies import Tidy, follow, random_commands
from molt_envs.families.shell.state import changes, read_state, start_files
from molt_envs.families.shell.tasks import SPLITS, shell_task
from molt_envs.policy import FixedScript, Policy
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import Tool, Toolbox, call_grammar, show
from molt_envs.tools.sandboxed import Workspace
from molt_envs.tools.shell import shell_tool

SUMMARY = "A terminal in a small file system: find, edit, count, rename, archive; its final state counts"
SYSTEM_PROMPT = (
    "You work in a terminal, in a folder with some files. Do what you are asked for with the tool shell, "
    "which runs commands with sh, and change nothing else in the folder; use /tmp for files of your own. "
    "Paths begin in the folder that you start in. A call may take 10 seconds. When all is done, call "
    "submit."
)
GRAMMAR = call_grammar(ToolCall("shell", {"command": "ls"}))


def submit() -> str:
    """End the task, when all is done."""
    return "submitted"


class ShellEnv(AgentEnv):
    """A task in a file system, ended by `submit`.

    Args:
        partial: reward the share of the wanted changes instead of the whole task alone.
        backend: which sandboxes the commands run in.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi` or None.

    Raises:
        SandboxUnavailable: the backend cannot hold untrusted code here; says why and how to mend it.
    """

    def __init__(
        self,
        partial: bool = False,
        backend: str = "zygote",
        max_turns: int = 16,
        render_mode: str | None = None,
    ) -> None:
        self._partial = partial
        self._workspace = Workspace(backend)
        self._box = Toolbox([shell_tool(self._workspace), Tool.of(submit, ends=True)])
        limits = (0.0, 1.0), SPLITS, max_turns
        card = EnvCard(SUMMARY, SYSTEM_PROMPT, GRAMMAR, *limits, "tool", self._box.schemas)
        super().__init__(card, render_mode)

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._errand = shell_task(task.split, task.index)
        self._workspace.begin(start_files(self._errand.start))
        return Turn(self._errand.instruction)

    def _act(self, action: str) -> Turn:
        results = self._box.run(action)
        if not results[-1].ended:
            return Turn(show(results))
        score, success = self._judge()
        return Turn(show(results), score if self._partial else float(success), True, score, success)

    def _judge(self) -> tuple[float, bool]:
        """The share of changes that were made and wanted, and whether these are all."""
        if not self._workspace.used:
            return 0.0, False
        end = read_state(self._workspace)
        self._workspace.end()
        if end is None:
            return 0.0, False
        made, wanted = changes(self._errand.start, end), changes(self._errand.start, self._errand.goal)
        return len(made & wanted) / len(made | wanted), made == wanted

    def oracle(self, seed: int = 0, noise: float = 0.0) -> FixedScript:
        """A policy that carries out the running task; `noise`: how often it slips first."""
        task = self.running_task()
        return follow(self._errand, f"{seed} {task.task_id}", noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; the script mends permissions and deletes what is empty, asked or not."""
        return super().baselines(seed) | {"script": Tidy(), "random": random_commands(seed)}

    def close(self) -> None:
        """Remove the sandbox."""
        self._workspace.close()
        super().close()
