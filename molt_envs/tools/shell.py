"""The `shell` tool: a command in, what it printed out, in the folder that the command before it ended in."""

from molt_envs.tools.calls import Tool
from molt_envs.tools.sandboxed import Workspace


def shell_tool(workspace: Workspace) -> Tool:
    """The tool, on the workspace of the running episode."""

    def shell(command: str) -> str:
        """Run a command with sh. What it prints is shown; the current folder is kept, variables are not.

        Args:
            command: one or more lines for sh; nothing can be typed in while it runs.
        """
        return workspace.ask("shell", command) or "(nothing printed)"

    return Tool.of(shell)
