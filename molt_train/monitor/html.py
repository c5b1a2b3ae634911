"""Small pieces of HTML. In: text and cells. Out: HTML text, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Cell:
    """A table cell that is not plain text."""

    text: str
    """Shown, escaped."""
    css: str
    """Class: `n` for numbers, `wrap` for long text."""


def number(text: str) -> Cell:
    """A cell that is aligned to the right."""
    return Cell(text, "n")


def table(head: Sequence[str | Cell], rows: Sequence[Sequence[str | Cell]]) -> str:
    """A table that scrolls sideways on a narrow screen."""
    lines = ["<tr>" + "".join(_cell("th", cell) for cell in head) + "</tr>"] if head else []
    lines += ["<tr>" + "".join(_cell("td", cell) for cell in row) + "</tr>" for row in rows]
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'


def details(summary: str, body: str, note: str = "", is_open: bool = False) -> str:
    """A part that folds; `body` is HTML, the others are text."""
    small = f" <small>{escape(note)}</small>" if note else ""
    return f"<details{' open' if is_open else ''}><summary>{escape(summary)}{small}</summary>{body}</details>"


def card(what: str, value: str, more: str = "", css: str = "") -> str:
    """A headline number."""
    return (
        f'<div class="card"><div class="what">{escape(what)}</div>'
        f'<div class="value {css}">{escape(value)}</div>'
        f'<div class="more">{escape(more)}</div></div>'
    )


def _cell(tag: str, cell: str | Cell) -> str:
    if isinstance(cell, Cell):
        return f'<{tag} class="{cell.css}">{escape(cell.text)}</{tag}>'
    return f"<{tag}>{escape(cell)}</{tag}>"
