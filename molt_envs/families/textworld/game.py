"""Generated games of textworld: their files, and one game as it is played.

In: a size and a seed. Out: a running game with its state; nothing stays on disk.
"""

from __future__ import annotations

import functools
import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from molt_envs.extras import import_extra

_PROMPT = re.compile(r"\n*>?[ ]*-= [^\n]* =-\d+/\d+\s*$")
# Another world of the same task is drawn from a seed that no task has.
_NUM_TRIES, _SEED_STEP = 50, 1_000_003
_MENU = "Would you like to RESTART"


@dataclass(frozen=True)
class Size:
    """How large a game is."""

    num_rooms: int = 5
    """Rooms of the world."""
    num_objects: int = 8
    """Things in it."""
    quest_length: int = 5
    """Commands of the shortest solution."""


@functools.lru_cache(maxsize=64)
def game_files(size: Size, seed: int) -> dict[str, bytes]:
    """The compiled game by file name; some seconds for a new one.

    Raises:
        ImportError: textworld is not installed.
        ValueError: textworld cannot make a game of this size.
    """
    generator = import_extra("textworld.generator", "textworld", "molt/TextWorld-v0")
    options = import_extra("textworld", "textworld", "molt/TextWorld-v0").GameOptions()
    options.nb_rooms = size.num_rooms
    options.nb_objects = size.num_objects
    options.quest_length = size.quest_length
    with tempfile.TemporaryDirectory(prefix="molt-textworld-") as folder:
        options.path = str(Path(folder, "game.z8"))
        try:
            for options.seeds in range(seed, seed + _NUM_TRIES * _SEED_STEP, _SEED_STEP):
                game = generator.make_game(options)
                names = [str(info.name) for info in game.infos.values() if info.name]
                if not ambiguous(names):
                    break
            else:
                raise ValueError(f"{_NUM_TRIES} worlds in a row have names that their parser confuses")
            generator.compile_game(game, options)
        except (AssertionError, LookupError, ValueError) as error:
            raise ValueError(f"textworld makes no game for {size}, seed {seed}: {error}") from error
        return {name: Path(folder, name).read_bytes() for name in ("game.z8", "game.json")}


def ambiguous(names: list[str]) -> bool:
    """Whether a name is part of another, as `red key` of `red iron key`.

    The game's parser then asks which is meant, and no answer would tell the shorter one.
    """
    words = [set(name.casefold().split()) for name in names]
    return any(one < other for one in words for other in words)


class Game:
    """A running game; a context manager.

    Args:
        size: of the world.
        seed: of its generation.

    Raises:
        ImportError, ValueError: see `game_files`.
    """

    def __init__(self, size: Size, seed: int) -> None:
        library = import_extra("textworld", "textworld", "molt/TextWorld-v0")
        wanted = library.EnvInfos(
            admissible_commands=True,
            policy_commands=True,
            objective=True,
            won=True,
            lost=True,
            max_score=True,
        )
        files = game_files(size, seed)
        # The engine holds the game in memory once it has begun.
        with tempfile.TemporaryDirectory(prefix="molt-textworld-") as folder:
            for name, data in files.items():
                Path(folder, name).write_bytes(data)
            with warnings.catch_warnings():
                # The interpreter does not know the game by its hash; the points come from textworld itself.
                warnings.filterwarnings("ignore", message="Game .* is not fully supported")
                self._env = library.start(str(Path(folder, "game.z8")), wanted)
                self._state: Any = self._env.reset()
        # The game opens with its goal, under a banner drawn in dollar signs.
        self.text = _clean(str(self._state.feedback).rpartition("$$")[2])

    def play(self, command: str) -> None:
        """Take one of `commands`."""
        self._state, _, _ = self._env.step(command)
        self.text = _clean(str(self._state.feedback))

    @property
    def commands(self) -> tuple[str, ...]:
        """What may be done now."""
        return tuple(self._state.admissible_commands)

    @property
    def plan(self) -> tuple[str, ...]:
        """The library's own shortest way on from here."""
        return tuple(self._state.policy_commands)

    @property
    def score(self) -> float:
        """Points so far over all points."""
        return int(self._state.score) / max(1, int(self._state.max_score))

    @property
    def won(self) -> bool:
        """Whether the quest is done."""
        return bool(self._state.won)

    @property
    def lost(self) -> bool:
        """Whether the quest cannot be done any more."""
        return bool(self._state.lost)

    def close(self) -> None:
        """End the engine."""
        self._env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _clean(feedback: str) -> str:
    """The text without the status line, and without the menu at the end."""
    return _PROMPT.sub("", feedback.partition(_MENU)[0]).strip()
