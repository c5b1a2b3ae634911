"""What the renderer makes of each template: measured, and as docs/renderers.md says.

`python -m tests.molt_train.rollout.template_verdicts` prints the table for the page.
"""

from __future__ import annotations

from pathlib import Path

from molt_train.rollout.chat_renderer import ChatRenderer
from tests.molt_train.rollout.chat_templates import shipped_templates, tokenizer_for
from tests.molt_train.rollout.conversations import (
    CALLING,
    PLAIN,
    THINKING,
    THINKING_AND_CALLING,
    TOOLS,
    num_new_segments,
)

PAGE = Path(__file__).parents[3] / "docs" / "renderers.md"
KINDS = {0: "extends", 3: "new segment"}


def measured(name: str, template: str) -> tuple[str, ...]:
    """Plain answers, answers with thinking, tool calls, tool calls with thinking; `refused: …` with the
    reason. In each case that is not refused, three turns' ids were those of the full render."""
    tokenizer = tokenizer_for(template)
    try:
        renderer = ChatRenderer(tokenizer, name)
    except ValueError as error:
        return (f"refused: {_clause(error, name)}", "", "", "")
    parts = name.startswith(("idefics", "llava", "smolvlm"))
    talked = [
        KINDS[num_new_segments(renderer, tokenizer, answers, parts=parts)] for answers in (PLAIN, THINKING)
    ]
    try:
        calling = ChatRenderer(tokenizer, name, tools=TOOLS, observation_role="tool")
    except ValueError as error:
        return (*talked, f"refused: {_clause(error, name)}", "")
    called = [
        KINDS[num_new_segments(calling, tokenizer, answers, TOOLS)]
        for answers in (CALLING, THINKING_AND_CALLING)
    ]
    return (*talked, f"{called[0]} ({calling.tool_format})", called[1])


def documented() -> dict[str, tuple[str, ...]]:
    """The page's table by template."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    return {row[0].strip("`"): tuple(row[1:]) for row in rows}


def _clause(error: ValueError, name: str) -> str:
    """The reason in an error that names the template."""
    text = str(error).removeprefix(f"the chat template of {name} ")
    assert text != str(error), f"{error} does not name the template"
    text = text.removeprefix("cannot be used with tools: ").split(";")[0]
    return text.split(": it goes on")[0].split(": its generation")[0]


if __name__ == "__main__":
    for template_name, source in shipped_templates().items():
        print(f"| `{template_name}` | {' | '.join(measured(template_name, source))} |")
