"""`molt/WordClues-v0`: one gives a clue, the other guesses which words of a board it means.

In: `clue WORD N` from the giver, `guess WORD` from the guesser. Out: the board in words, from each side;
every word that is found is worth the same to both.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from typing import Any

from molt_envs.env import ActionGrammar, EnvCard, Task
from molt_envs.families.games.associations import NUM_GROUPS, Board, associations, draw_board
from molt_envs.multi_agent import Opponent, SeatEnv, TextGame
from molt_envs.policy import Policy

SUMMARY = "Give one-word clues, or guess which words of a board a clue means, together with a partner"
GIVER, GUESSER = 0, 1
GIVER_PROMPT = (
    "You and a partner look at the same words. Only you know which ones are the targets. In each of "
    f"{NUM_GROUPS} rounds, write: clue WORD N. The partner then makes up to N guesses; a wrong one ends the "
    "round. WORD must be a single word that is not on the board, in none of its words, and around none of "
    "them. Both of you score for every target that is found."
)
GUESSER_PROMPT = (
    "You and a partner look at the same words. Only the partner knows which ones are the targets, and gives "
    f"you a clue with the number of words that it means, in each of {NUM_GROUPS} rounds. Each turn, write: "
    "guess WORD. A wrong guess ends the round. Both of you score for every target that is found."
)
GIVER_GRAMMAR = ActionGrammar(
    "clue WORD N, N being how many words it means", "clue water 2", r"clue [^\s]+ \d+"
)
GUESSER_GRAMMAR = ActionGrammar("guess WORD, with a word of the board", "guess apple", r"guess [^\s]+")


class WordClues(TextGame):
    """The rules: seat 0 gives the clues, seat 1 guesses."""

    illegal_move = "noop"

    def __init__(self) -> None:
        splits = {"train": 10_000, "validation": 1_000, "test": 1_000}
        card = EnvCard(
            SUMMARY, GUESSER_PROMPT, GUESSER_GRAMMAR, (0.0, 1.0), splits, max_turns=12, bounded=True
        )
        super().__init__(card)

    def seat_card(self, seat: int) -> EnvCard:
        """See `TextGame.seat_card`; the two seats do different things."""
        if seat == GUESSER:
            return self.card
        return dataclasses.replace(
            self.card, system_prompt=GIVER_PROMPT, grammar=GIVER_GRAMMAR, max_turns=NUM_GROUPS
        )

    def _begin(self, task: Task) -> None:
        self.board: Board = draw_board(task)
        self.hidden = list(self.board.words)
        self.rounds_left = NUM_GROUPS
        self.clue = ""
        self.guesses_left = 0

    @property
    def targets_left(self) -> list[str]:
        """Targets that are not found yet, as they stand on the board."""
        return [word for word in self.hidden if word in self.board.targets]

    def _play(self, seat: int, action: str) -> tuple[float, ...]:
        words = action.lower().split()
        return self._give(words) if seat == GIVER else self._guess(words)

    def _give(self, words: list[str]) -> tuple[float, ...]:
        self.rounds_left -= 1
        number = words[2] if len(words) == 3 and words[0] == "clue" else ""
        if number.isascii() and number.isdigit() and 1 <= int(number[:3]) <= 6 and self.legal(words[1]):
            self.clue, self.guesses_left = words[1], int(number)
            self.tell(f"The clue: {self.clue} {self.guesses_left}.")
            self.mover = GUESSER
        else:
            self.tell("That is no legal clue; the round is lost.", GIVER)
            self.tell("No legal clue was given; the round is lost.", GUESSER)
            self._end_round()
        return 0.0, 0.0

    def legal(self, clue: str) -> bool:
        """Whether `clue` is a word of its own on this board."""
        return clue.isalpha() and len(clue) <= 30 and self.board.allows(clue)

    def _guess(self, words: list[str]) -> tuple[float, ...]:
        self.guesses_left -= 1
        reward = 0.0
        if len(words) == 2 and words[0] == "guess" and words[1] in self.hidden:
            self.hidden.remove(words[1])
            if words[1] in self.board.targets:
                reward = 1 / len(self.board.targets)
                self.tell(f"{words[1]} is a target.")
            else:
                self.guesses_left = 0
                self.tell(f"{words[1]} is no target; the round is over.")
        else:
            self.tell("That is no word of the board; the guess is used up.", GUESSER)
            self.tell("The partner named no word of the board.", GIVER)
        if not self.guesses_left or not self.targets_left:
            self._end_round()
        return reward, reward

    def _end_round(self) -> None:
        self.mover = GIVER if self.rounds_left and self.targets_left else None

    def _ask(self, seat: int) -> str:
        if self.mover is None:
            return f"Found {self._num_found()} of {len(self.board.targets)} targets."
        if seat == GUESSER:
            clue = (
                f" The clue is {self.clue}; guesses left: {self.guesses_left}." if self.mover == seat else ""
            )
            return f"Words: {', '.join(self.hidden)}.{clue}"
        others = [word for word in self.hidden if word not in self.board.targets]
        rounds = f" Rounds left: {self.rounds_left}." if self.mover == seat else ""
        return f"Targets: {', '.join(self.targets_left)}. Other words: {', '.join(others)}.{rounds}"

    def admissible(self) -> tuple[str, ...]:
        """Every guess; for the giver the clues of the shipped table, though any legal word will do."""
        if self.mover is None:
            return ()
        if self.mover == GUESSER:
            return tuple(f"guess {word}" for word in self.hidden)
        return tuple(f"clue {clue} 3" for clue in associations() if self.legal(clue))

    def _num_found(self) -> int:
        return len(self.board.targets) - len(self.targets_left)

    def score(self, seat: int) -> float:
        """Share of the targets that are found; the same for both."""
        return self._num_found() / len(self.board.targets)

    def success(self, seat: int) -> bool:
        """Whether all targets are found."""
        return not self.targets_left

    def script(self, seat: int, seed: int) -> Policy:
        """Thinks in the associations of the shipped table."""
        return TableGuesser(self, seed) if seat == GUESSER else TableGiver(self)

    def oracle(self, seat: int, seed: int, noise: float) -> Policy:
        """Knows targets and table; `noise` makes wrong guesses, or names one word too few."""
        if seat == GUESSER:
            return TargetGuesser(self, seed, noise)
        return TableGiver(self, seed, noise)


class TableGiver:
    """Gives the clue of the table that means most targets and no other word.

    Args:
        game: the game, whose targets the giver may know.
        seed: fixes its slips.
        noise: share of clues with a number that is one too small.
    """

    def __init__(self, game: WordClues, seed: int = 0, noise: float = 0.0) -> None:
        self._game, self._noise = game, noise
        self._rng = random.Random(seed)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next clue."""
        targets = set(self._game.targets_left)
        others = set(self._game.hidden) - targets
        safe = {
            clue: meant & targets
            for clue, meant in associations().items()
            if self._game.legal(clue) and not meant & others and meant & targets
        }
        if not safe:
            return self._game.admissible()[0]
        # The best clue now is the one that leaves the most to the best clue of the next round.
        rounds = min(self._game.rounds_left, 2)
        best = max(
            safe,
            key=lambda clue: (
                max(len(safe[clue] | (found if rounds == 2 else set[str]())) for found in safe.values()),
                len(safe[clue]),
            ),
        )
        slip = len(safe[best]) > 1 and self._rng.random() < self._noise
        return f"clue {best} {len(safe[best]) - slip}"


class TableGuesser:
    """Guesses the words that the table knows for the clue, then any.

    Args:
        game: the game, of which it reads the board and the clue.
        seed: fixes the order of its guesses.
    """

    def __init__(self, game: WordClues, seed: int) -> None:
        self._game = game
        self._rng = random.Random(seed)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next guess."""
        meant = associations().get(self._game.clue, frozenset[str]())
        known = [word for word in self._game.hidden if word in meant]
        return f"guess {self._rng.choice(known or self._game.hidden)}"


class TargetGuesser:
    """Guesses targets, those that the clue means first, and by chance other words.

    Args:
        game: the game.
        seed: fixes its slips.
        noise: share of guesses that are wrong.
    """

    def __init__(self, game: WordClues, seed: int, noise: float) -> None:
        self._game, self._noise = game, noise
        self._rng = random.Random(seed)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next guess."""
        meant = associations().get(self._game.clue, frozenset[str]())
        wrong = [word for word in self._game.hidden if word not in self._game.targets_left]
        slip = wrong and self._rng.random() < self._noise
        # The clue's own targets first: the next clue can mean only what belongs together.
        right = sorted(self._game.targets_left, key=lambda word: word not in meant)
        return f"guess {self._rng.choice(wrong) if slip else right[0]}"


class WordCluesEnv(SeatEnv):
    """Word clues from one seat.

    Args:
        seat: 0 gives clues, 1 guesses.
        opponent: the partner, see `SeatEnv`; the script thinks in the shipped table.
        render_mode: `ansi` or None.
    """

    def __init__(
        self, seat: int = GUESSER, opponent: Opponent = "script", render_mode: str | None = None
    ) -> None:
        super().__init__(WordClues(), seat, opponent, render_mode)
