"""Whether an answer is right: case, accents, articles, signs and the writing of numbers do not matter.

In: what was answered, and every form of the right answer. Out: yes or no.
"""

import re
import unicodedata
from collections.abc import Iterable

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
DIGITS: dict[str, str] = {word: str(number) for number, word in enumerate(_NUMBERS)}
_THOUSANDS = re.compile(r"(?<=\d)[,'’\s](?=\d{3}(?!\d))")
ARTICLES = {"a", "an", "the"}


def normal_form(text: str) -> str:
    """Words in lower case without accents and articles; `1,200` and `1 200` are `1200`, `two` is `2`."""
    text = unicodedata.normalize("NFKD", text[:1000]).casefold()
    letters = "".join(sign for sign in text if not unicodedata.combining(sign))
    words: list[str] = re.findall(r"[^\W_]+", _THOUSANDS.sub("", letters))
    return " ".join(DIGITS.get(word, word) for word in words if word not in ARTICLES)


def is_right(answer: str, accepted: Iterable[str]) -> bool:
    """Whether the answer is one of the accepted ones; one that holds more than that is not."""
    given = normal_form(answer)
    return bool(given) and given in {normal_form(form) for form in accepted}
