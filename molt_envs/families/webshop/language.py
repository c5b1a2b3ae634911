"""Word lists of the family (`data/language.json`) and what is computed from them; no tagger runs.

In: text. Out: the nouns of a title, a normalised option.
"""

import json
from functools import cache
from pathlib import Path

from molt_envs.tools.text_search import words

DATA = Path(__file__).parent / "data"


@cache
def _lists() -> dict[str, list[str]]:
    return json.loads((DATA / "language.json").read_text("utf-8"))


def title_nouns(title: str) -> frozenset[str]:
    """Words of a title that are not listed as another part of speech, numbers aside."""
    listed = _lists()["not_nouns"]
    return frozenset(word for word in words(title) if word.isalpha() and len(word) > 1 and word not in listed)


def plain_color(option: str) -> str:
    """The first listed colour that occurs in `option`, or `option` itself."""
    return next((color for color in _lists()["colors"] if color in option), option)
