"""The `python` tool: code in, what it printed out, in an interpreter that lives as long as the episode."""

from molt_envs.tools.calls import Tool
from molt_envs.tools.sandboxed import Workspace


def python_tool(workspace: Workspace) -> Tool:
    """The tool, on the workspace of the running episode."""

    def python(code: str) -> str:
        """Run Python code. What it prints and the value of its last line are shown; its names are kept.

        Args:
            code: any statements; the standard library alone can be imported, and there is no network.
        """
        return workspace.ask("python", code) or "(nothing printed)"

    return Tool.of(python)
