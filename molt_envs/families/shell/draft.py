"""The files that a task begins with, and what templates ask of them.

In: a random generator and the words of a split. Out: a state; words, folders and files that fit a wish.
"""

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

from molt_envs.families.shell.state import Entry, text_file

LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")


class Draft:
    """The start of a task: four folders, the first with a folder in it, and a few texts in each.

    Args:
        split: whose words are used; splits share no name.
        rng: fixes everything.
    """

    def __init__(self, split: str, rng: random.Random) -> None:
        self.rng = rng
        self._words = texts("words.json")[split]
        self._names = self.draw("names", len(self._words["names"]))
        self.files: dict[str, Entry] = {}
        self.folder, self.other, self.third = self.draw("folders", 3)
        self.inner = f"{self.folder}/{self.name()}"
        self.old, self.new = self.draw("extensions", 2)
        for folder in (self.folder, self.inner, self.other, self.third):
            for _ in range(rng.randrange(1, 3)):
                self.add(f"{folder}/{self.name()}.md", self.lines(rng.randrange(2, 6)))

    def draw(self, kind: str, count: int) -> list[str]:
        """Distinct words of a kind."""
        return self.rng.sample(self._words[kind], count)

    def name(self) -> str:
        """A name that nothing bears yet."""
        if self._names:
            return self._names.pop()
        return f"{self.rng.choice(self._words['names'])}{self.rng.randrange(10, 9999)}"

    def word(self) -> str:
        """Any word."""
        return self.rng.choice(self._words["words"])

    def line(self) -> str:
        """Some words."""
        return " ".join(self.word() for _ in range(self.rng.randrange(2, 6)))

    def lines(self, count: int) -> str:
        """A text."""
        return "".join(f"{self.line()}\n" for _ in range(count))

    def add(self, path: str, text: str, mode: int = 0o644) -> str:
        """Put a file there; gives its path."""
        self.files[path] = text_file(text, mode)
        return path

    def spread(self, extension: str, low: int, high: int, text: str | None = None) -> list[str]:
        """Between low and high files in the first folder and the one in it; their paths."""
        folders = [self.folder, self.inner]
        count = self.rng.randrange(low, high)
        paths = [f"{folders[number % 2]}/{self.name()}.{extension}" for number in range(count)]
        return [self.add(path, self.lines(3) if text is None else text) for path in paths]

    def below(self, folder: str) -> list[str]:
        """The paths below a folder, sorted."""
        return [path for path in sorted(self.files) if path.startswith(f"{folder}/")]

    def log_lines(self, count: int) -> list[str]:
        """Lines of a log: day, time, level, user and words, among which a level's name may be."""
        rows: list[str] = []
        minutes = sorted(self.rng.sample(range(60 * 24), count))
        for minute in minutes:
            words = f"{self.line()} {self.rng.choice((*LEVELS, self.word()))}"
            who = self.rng.choice(self._words["people"])
            clock = f"{minute // 60:02}:{minute % 60:02}"
            rows.append(f"2031-05-17 {clock} {self.rng.choice(LEVELS)} user={who} {words}")
        return rows

    def sum_table(self, key: str, keys: list[str], count: int) -> str:
        """A table of three columns, one of them numbers."""
        rows = [f"{self.word()},{self.rng.choice(keys)},{self.rng.randrange(1, 500)}" for _ in range(count)]
        return "\n".join([f"item,{key},amount", *rows]) + "\n"


@cache
def texts(file: str) -> dict[str, Any]:
    """A file of `data/`."""
    return json.loads(Path(__file__).with_name("data").joinpath(file).read_text("utf-8"))
