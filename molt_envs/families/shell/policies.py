"""Policies: one that carries out the task's commands, and two without skill.

In: the task, or what the environment shows. Out: actions.
"""

import random
import re
from collections.abc import Mapping
from typing import Any

from molt_envs.families.shell.tasks import ShellTask
from molt_envs.policy import FixedScript
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import write_calls

SUBMIT = write_calls(ToolCall("submit", {}))
TIDY = (
    "find {0} -type f -empty -delete; find {0} -type f -perm -o+w -exec chmod o-w {{}} +; "
    "grep -rlI '^#!' {0} | xargs -r chmod u+x"
)
LOOK = "find . -type f | sort | xargs stat -c '%a %s %n'"
POKES = ("ls", "ls -R", "pwd", "cat */*.md", "touch done", "mkdir -p new", "find . -type f | wc -l > count")


def run(command: str) -> str:
    """The action that runs a command."""
    return write_calls(ToolCall("shell", {"command": command}))


def follow(task: ShellTask, seed: str, noise: float) -> FixedScript:
    """Looks around, carries out the commands, looks at what came of them, and submits.

    Args:
        task: with its commands.
        seed: fixes the slips.
        noise: share of commands before which it makes a mistake that changes nothing.
    """
    rng = random.Random(seed)
    actions: list[str] = []
    checks = (LOOK,) if len(task.commands) == 1 else ()
    for command in (LOOK, *task.commands, *checks):
        if rng.random() < noise:
            actions.append(_slip(command, rng))
        actions.append(run(command))
    return FixedScript([*actions, SUBMIT])


class Tidy:
    """Does what three of the templates want in the first folder that the instruction names, and submits."""

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next action."""
        if info["turn"] > 0:
            return SUBMIT
        folders = re.findall(r"[a-z]+(?=/)", observation)
        return run(TIDY.format(folders[0] if folders else "."))


def random_commands(seed: int) -> FixedScript:
    """Some commands that any folder knows, and the end."""
    return FixedScript([*map(run, random.Random(seed).choices(POKES, k=4)), SUBMIT])


def _slip(command: str, rng: random.Random) -> str:
    """A wrong tool, a wrong argument, or a command that is not there."""
    wrong = [ToolCall("bash", {"command": command}), ToolCall("shell", {"cmd": command})]
    return rng.choice([*map(write_calls, wrong), run(f"{command.split()[0]}x --help")])
