"""Other ways to show a page: with its buttons marked, or as a document for browsers.

In: a page, and what an episode adds to it. Out: the observations of the modes `text_rich` and `html`. In
`html`, each thing to click is a button whose value is the name that `click[…]` takes.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from html import escape

from molt_envs.families.webshop.pages import MAX_CHARS, SEP, Page

NUM_TEXT_CHARS = 8_000
_HEAD = (
    '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>WebShop</title></head>\n<body>\n'
)
_SEARCH = (
    '<form method="post" role="search"><input type="search" name="search" aria-label="Search">'
    "<button>Search</button></form>"
)


@dataclass(frozen=True, slots=True)
class View:
    """What an episode adds to a page."""

    instruction: str
    """Shown above it; empty for none."""
    is_start: bool
    """Whether it is the page with the search field."""
    chosen: Mapping[str, str]
    """Option group to its chosen value."""
    seen: Container[str]
    """Names of the products that were looked at."""


def rich_text(page: Page, view: View) -> str:
    """A line for each string; buttons are marked, clicked ones in another way, as in the original."""
    lines = [f"You have clicked {value}." for value in view.chosen.values()]
    lines += ["WebShop"] * view.is_start + ["Instruction:", view.instruction] * bool(view.instruction)
    group = ""
    for kind, text, name in page.parts:
        if kind == "button":
            lines.append(_marked(text, False))
        elif kind == "option":
            lines.append("  " + _marked(text, view.chosen.get(group) == text))
        elif kind == "card":
            asin, title, price = _card(text)
            lines += ["", _marked(asin, name in view.seen), title, price]
        else:
            group = text if kind == "group" else group
            lines.append(text)
    return "\n".join(lines)[:MAX_CHARS]


def html(page: Page, view: View) -> str:
    """A document whose forms send `click` or `search`; escaped, and cut between two parts if too long.

    Each string is cut at 8,000 characters.
    """
    lines = [f'<p id="instruction">{escape(view.instruction, quote=False)}</p>'] * bool(view.instruction)
    lines.append(_SEARCH if view.is_start else '<form method="post">')
    num_chars, in_group = 0, False
    for kind, line in _html_parts(page, view):
        closes = in_group and kind != "option"
        num_chars += len(line) + 13
        if num_chars > MAX_CHARS:
            break
        lines += ["</fieldset>"] * closes + [line]
        in_group = kind == "group" or (in_group and not closes)
    lines += ["</fieldset>"] * in_group + ["</form>"] * (not view.is_start)
    return _HEAD + "\n".join(lines) + "\n</body>\n</html>"


def _html_parts(page: Page, view: View) -> Iterator[tuple[str, str]]:
    """Kind and line of each part; a group's line opens it."""
    group = ""
    for kind, text, name in () if view.is_start else page.parts:
        shown = escape(text[:NUM_TEXT_CHARS], quote=False)
        if kind == "button":
            yield kind, _button(text, name)
        elif kind == "option":
            pressed = "true" if view.chosen.get(group) == text else "false"
            yield kind, _button(text, name, f' aria-pressed="{pressed}"')
        elif kind == "card":
            asin, title, price = _card(text)
            title, price = escape(title[:NUM_TEXT_CHARS], quote=False), escape(price, quote=False)
            yield kind, f"<article>{_button(asin, name)} <h2>{title}</h2> <p>{price}</p></article>"
        elif kind == "group":
            group = text
            yield kind, f"<fieldset><legend>{shown}</legend>"
        else:
            tag = "h1" if kind == "title" else "p"
            yield kind, f"<{tag}>{shown}</{tag}>"


def _button(text: str, name: str, state: str = "") -> str:
    shown = escape(text[:NUM_TEXT_CHARS], quote=False)
    return f'<button name="click" value="{escape(name)}"{state}>{shown}</button>'


def _marked(text: str, clicked: bool) -> str:
    return f"[clicked button] {text} [clicked button_]" if clicked else f"[button] {text} [button_]"


def _card(text: str) -> tuple[str, str, str]:
    """Id, title and price; a title may hold the separator."""
    asin, _, rest = text.partition(SEP)
    title, _, price = rest.rpartition(SEP)
    return asin, title, price
