"""`molt/ToolCalls-v0`: an errand in an office, done by function calls and judged by the final state.

In: calls of tools as JSON. Out: what the tools said; at the end whether exactly the wanted changes were made.
"""

import copy
import random

import numpy as np

from molt_envs.env import AgentEnv, EnvCard, Task, Turn
from molt_envs.families.tool_calls.office import Office, changes
from molt_envs.families.tool_calls.policies import FINISH, CancelAll, random_calls
from molt_envs.families.tool_calls.tasks import SPLITS, office_task
from molt_envs.policy import FixedScript, Policy
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import Tool, Toolbox, call_grammar, show, write_calls

SUMMARY = "Do an errand in a small office by function calls; only the changes that were made count"
SYSTEM_PROMPT = (
    "You look after an office: its orders, calendar, files and messages. Do what you are asked for with the "
    "tools, look up what you do not know, and change nothing else. When all is done, call finish."
)
GRAMMAR = call_grammar(ToolCall("list_messages", {"folder": "inbox"}))
READS = ("find_", "get_", "list_", "read_")


def finish() -> str:
    """End the errand, when all is done."""
    return "finished"


class ToolCallsEnv(AgentEnv):
    """An office in which a call of `finish` ends the episode.

    Args:
        partial: reward the share of the wanted changes instead of the whole errand alone.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi` or None.
    """

    def __init__(self, partial: bool = False, max_turns: int = 20, render_mode: str | None = None) -> None:
        self._partial = partial
        self._office = Office()
        self._box = Toolbox([*map(Tool.of, self._office.tools()), Tool.of(finish, ends=True)])
        limits = (0.0, 1.0), SPLITS, max_turns
        card = EnvCard(SUMMARY, SYSTEM_PROMPT, GRAMMAR, *limits, "tool", self._box.schemas, bounded=True)
        super().__init__(card, render_mode)

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._errand = office_task(task.split, task.index)
        self._office.tables = copy.deepcopy(self._errand.start)
        refused = [result.text for result in map(self._box.call, self._errand.plan) if result.is_error]
        assert not refused, f"{task.task_id}: its own plan is refused: {refused}"
        self._wanted = changes(self._errand.start, self._office.tables)
        self._office.tables = copy.deepcopy(self._errand.start)
        return Turn(self._errand.instruction)

    def _act(self, action: str) -> Turn:
        results = self._box.run(action)
        if not results[-1].ended:
            return Turn(show(results))
        made = changes(self._errand.start, self._office.tables)
        score = (made & self._wanted).total() / (made | self._wanted).total()
        success = made == self._wanted
        reward = score if self._partial else float(success)
        return Turn(show(results), reward, True, score, success)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> FixedScript:
        """A policy that carries out the running errand; `noise` leaves out calls that change something."""
        task = self.running_task()
        rng = random.Random(f"{seed} {task.task_id}")
        plan = [call for call in self._errand.plan if call.name.startswith(READS) or rng.random() >= noise]
        return FixedScript([*map(write_calls, plan), FINISH])

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; the script cancels whatever orders it finds."""
        tools = {tool.name: list(tool.parameters["properties"]) for tool in self._box.tools}
        calls = random_calls(self._errand.start, tools, seed, num_calls=6)
        return super().baselines(seed) | {"script": CancelAll(), "random": calls}
