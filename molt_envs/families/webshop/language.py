"""Word lists of the family and what is computed from them: stems, nouns, plain colours.

In: text. Out: index terms (stems without stop words), the nouns of a title, a normalised option. The lists are data
(`data/language.json`); no tagger runs.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_VOWEL = re.compile(r"[aeiouy]")
_VOWELS_CONSONANTS = re.compile(r"[aeiouy]+[^aeiouy]+")


@cache
def _lists() -> dict[str, Any]:
    return json.loads((DATA / "language.json").read_text("utf-8"))


@cache
def _not_nouns() -> frozenset[str]:
    return frozenset(_lists()["not_nouns"] + _lists()["stop_words"])


def _words(text: str) -> list[str]:
    return [word.removesuffix("'s") for word in _WORD.findall(text.lower().replace("\u2019", "'"))]


def terms(text: str, stems: dict[str, str]) -> list[str]:
    """Index terms of `text` in order. `stems` is the caller's memory: word to stem, empty for stop words."""
    words = _words(text)
    for word in words:
        if word not in stems:
            stems[word] = "" if word in _lists()["stop_words"] else stem(word)
    return [term for word in words if (term := stems[word])]


def stem(word: str) -> str:
    """Porter-style stem of a lower-case word.

    Each step of the table replaces its first suffix whose stem has a vowel and enough vowel-consonant sequences, as in
    M. F. Porter, "An algorithm for suffix stripping" (1980); other than there, a final `e` is never restored.
    """
    for rules in _lists()["stemmer"] if len(word) > 2 else ():
        for suffix, replacement, measure in rules:
            rest = word.removesuffix(suffix)
            if rest != word and _VOWEL.search(rest):
                if len(_VOWELS_CONSONANTS.findall(rest)) >= measure:
                    word = rest + replacement
                break
    return word


def title_nouns(title: str) -> frozenset[str]:
    """Words of a title that are not listed as another part of speech, numbers aside."""
    return frozenset(
        word for word in _words(title) if word.isalpha() and word[1:] and word not in _not_nouns()
    )


def plain_color(option: str) -> str:
    """The first listed colour that occurs in `option`, or `option` itself."""
    return next((color for color in _lists()["colors"] if color in option), option)
