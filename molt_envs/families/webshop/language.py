"""Word lists of the family and what is computed from them: stems, nouns, plain colours.

In: text. Out: index terms (Porter's English stems without stop words), the nouns of a title, a normalised option.
The lists are data (`data/language.json`); no tagger runs.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
_VOWELS = frozenset("aeiou")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


@cache
def _lists() -> dict[str, Any]:
    return json.loads((DATA / "language.json").read_text("utf-8"))


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(_lists()["stop_words"])


@cache
def _not_nouns() -> frozenset[str]:
    return frozenset(_lists()["not_nouns"]) | _stop_words()


@cache
def _colors() -> tuple[str, ...]:
    return tuple(_lists()["colors"])


def terms(text: str, stems: dict[str, str]) -> list[str]:
    """Index terms of `text` in order. `stems` is the caller's memory of stems and grows with new words."""
    found: list[str] = []
    for word in _WORD.findall(text.lower().replace("\u2019", "'")):
        stem = stems.get(word)
        if stem is None:
            bare = word.removesuffix("'s")
            stem = stems[word] = "" if bare in _stop_words() else porter_stem(bare)
        if stem:
            found.append(stem)
    return found


def title_nouns(title: str) -> frozenset[str]:
    """Words of a title that are not listed as another part of speech, numbers aside."""
    words = (word.removesuffix("'s") for word in _WORD.findall(title.lower().replace("\u2019", "'")))
    return frozenset(word for word in words if word.isalpha() and len(word) > 1 and word not in _not_nouns())


def plain_color(option: str) -> str:
    """The first listed colour that occurs in `option`, or `option` itself."""
    return next((color for color in _colors() if color in option), option)


def _consonants(word: str) -> list[bool]:
    """Per letter, whether it is a consonant; `y` is one at the start and after a vowel."""
    flags: list[bool] = []
    for position, letter in enumerate(word):
        vowel = letter in _VOWELS or (letter == "y" and position > 0 and flags[-1])
        flags.append(not vowel)
    return flags


def _measure(word: str) -> int:
    """Number of vowel-consonant sequences."""
    flags = _consonants(word)
    return sum(not before and after for before, after in zip(flags, flags[1:], strict=False))


def _ends_short(word: str) -> bool:
    """Consonant, vowel, consonant at the end, the last not w, x or y."""
    return len(word) > 2 and _consonants(word)[-3:] == [True, False, True] and word[-1] not in "wxy"


def _double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _consonants(word)[-1]


def porter_stem(word: str) -> str:
    """Porter's stem (M. F. Porter, An algorithm for suffix stripping, 1980) of a lower-case word."""
    if len(word) < 3 or not word.isascii():
        return word
    rules = _lists()["stemmer"]
    word = _inflection(word)
    if word.endswith("y") and not all(_consonants(word[:-1])):
        word = word[:-1] + "i"
    for step in ("step2", "step3"):
        for suffix, replacement in rules[step]:
            if word.endswith(suffix):
                stem = word[: -len(suffix)]
                word = stem + replacement if _measure(stem) > 0 else word
                break
    for suffix in sorted(rules["step4"], key=len, reverse=True):
        if word.endswith(suffix):
            cut = len(word) - (3 if suffix in ("sion", "tion") else len(suffix))
            word = word[:cut] if _measure(word[:cut]) > 1 else word
            break
    if word.endswith("e"):
        stem, measure = word[:-1], _measure(word[:-1])
        word = stem if measure > 1 or (measure == 1 and not _ends_short(stem)) else word
    return word[:-1] if word.endswith("l") and _double(word) and _measure(word) > 1 else word


def _inflection(word: str) -> str:
    """Step 1: plurals, -ed and -ing."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word and not all(_consonants(stem)):
            if stem.endswith(("at", "bl", "iz")) or (_measure(stem) == 1 and _ends_short(stem)):
                return stem + "e"
            return stem[:-1] if _double(stem) and stem[-1] not in "lsz" else stem
    return word
