"""`molt/KuhnPoker-v0`: matches of Kuhn poker, the smallest poker with bluffs.

In: `check`, `bet`, `call`, `fold`. Out: cards and chips in words; every hand's chips are its reward.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from molt_envs.env import ActionGrammar, EnvCard, Task
from molt_envs.families.games.strategy import CARDS, DEALS, INFORMATION_SETS, Strategy, optimal
from molt_envs.multi_agent import Opponent, SeatEnv, TextGame
from molt_envs.policy import Policy

SUMMARY = "Matches of Kuhn poker, three cards and one bet, against a policy, a script or a person"
SYSTEM_PROMPT = (
    "You play Kuhn poker. The deck has three cards: J, Q and K, the K being the best. In each hand both "
    "players pay 1 chip and get one card. With no bet on the table you may check or bet 1 chip; facing a "
    "bet you may call it or fold. After two checks or a call the better card takes the pot. Who moves first "
    "changes with every hand. Each turn, write one word: check, bet, call or fold; any other loses the hand."
)
GRAMMAR = ActionGrammar("one of the words check, bet, call, fold", "check", r"\b(?:check|bet|call|fold)\b")
NUM_TASKS = 12_000
# The first hands tell tasks apart: a number of the task, spread by a stride coprime to 6, in base 6.
_NUM_OWN_HANDS = 10
_STRIDE = 40_503_019
_CODES = {"check": "k", "bet": "b", "call": "c", "fold": "f"}
_PAST = {"check": "checks", "bet": "bets 1 chip", "call": "calls", "fold": "folds"}


class KuhnPoker(TextGame):
    """The rules of a match.

    Args:
        num_hands: hands in a match. Its deals are the task: with fewer than five hands there are too few
            for disjoint splits of full size, with one there are six.
    """

    illegal_move = "loss"

    def __init__(self, num_hands: int = 10) -> None:
        if num_hands < 1:
            raise ValueError(f"num_hands is {num_hands}; a match has at least one hand")
        num_tasks = min(len(DEALS) ** num_hands, NUM_TASKS)
        held_out = num_tasks // 12
        splits = {"train": num_tasks - 2 * held_out, "validation": held_out, "test": held_out}
        # 3: a won pot of 2, and the other seat then loses the next hand by an illegal word.
        card = EnvCard(
            SUMMARY,
            SYSTEM_PROMPT,
            GRAMMAR,
            (-2.0, 3.0),
            splits,
            max_turns=2 * num_hands,
            bounded=True,
            max_baseline_success=0.6,
        )
        super().__init__(card)
        self._num_hands = num_hands

    def _begin(self, task: Task) -> None:
        starts = {"train": 0, "validation": self.card.splits["train"]}
        start = starts.get(task.split, self.card.splits["train"] + self.card.splits["validation"])
        num_own = min(self._num_hands, _NUM_OWN_HANDS)
        number = (start + task.index) * _STRIDE % len(DEALS) ** num_own
        rng = random.Random(number)
        self._deals: list[tuple[int, ...]] = [
            DEALS[number // len(DEALS) ** hand % len(DEALS)] if hand < num_own else rng.choice(DEALS)
            for hand in range(self._num_hands)
        ]
        self._chips = [0, 0]
        self._hand = -1
        self._deal()

    def _deal(self) -> None:
        self._hand += 1
        self._history = ""
        self._over = self._hand == self._num_hands
        if self._over:
            self.mover = None
            self.tell("The match is over.")
            return
        if self._hand:
            self.tell(f"Hand {self._hand + 1} begins.")
        self._first = self._hand % 2
        self.mover = self._first

    def _rank(self, seat: int) -> int:
        return self._deals[self._hand][0 if seat == self._first else 1]

    def _play(self, seat: int, action: str) -> tuple[float, ...]:
        other = 1 - seat
        word = action.lower()
        if word not in self.admissible():
            self.tell(
                f"{action[:40]!r} is not one of {', '.join(self.admissible())}: the hand is lost.", seat
            )
            self.tell(f"{self.seats[seat]} breaks the rules and loses the hand.", other)
            return self._settle(other, 1)
        self.tell(f"You {word}." if word != "bet" else "You bet 1 chip.", seat)
        self.tell(f"{self.seats[seat]} {_PAST[word]}.", other)
        self._history += _CODES[word]
        if word == "fold":
            return self._settle(other, 1)
        if word == "call" or self._history == "kk":
            self.tell(
                f"{self.seats[0]} shows {CARDS[self._rank(0)]}, {self.seats[1]} shows {CARDS[self._rank(1)]}."
            )
            winner = 0 if self._rank(0) > self._rank(1) else 1
            return self._settle(winner, 2 if word == "call" else 1)
        self.mover = other
        return 0.0, 0.0

    def _settle(self, winner: int, chips: int) -> tuple[float, ...]:
        self.tell(f"You win {chips} from {self.seats[1 - winner]}.", winner)
        self.tell(f"You lose {chips} to {self.seats[winner]}.", 1 - winner)
        gains = [float(-chips), float(-chips)]
        gains[winner] = float(chips)
        for seat in (0, 1):
            self._chips[seat] += int(gains[seat])
        self._deal()
        return tuple(gains)

    def _ask(self, seat: int) -> str:
        if self._over:
            return f"Chips won: {self._chips[seat]:+d}."
        moves = f" You may {' or '.join(self.admissible())}." if seat == self.mover else ""
        return (
            f"Hand {self._hand + 1} of {self._num_hands}. Chips won: {self._chips[seat]:+d}. "
            f"You hold {CARDS[self._rank(seat)]}.{moves}"
        )

    def admissible(self) -> tuple[str, ...]:
        """`check` and `bet`, or `call` and `fold`."""
        if self._over:
            return ()
        return ("call", "fold") if self._history.endswith("b") else ("check", "bet")

    def information_set(self, seat: int) -> str:
        """What `seat` knows of the hand, as `strategy.INFORMATION_SETS` names it."""
        return f"{CARDS[self._rank(seat)]}:{self._history}"

    def score(self, seat: int) -> float:
        """Chips won in the match so far."""
        return float(self._chips[seat])

    def success(self, seat: int) -> bool:
        """Whether the match is over and `seat` has won chips."""
        return self._over and self._chips[seat] > 0

    def script(self, seat: int, seed: int) -> Policy:
        """An equilibrium: nothing wins from it in the long run."""
        return StrategyPolicy(self, seat, optimal(Fraction(1, 3)), seed)


class StrategyPolicy:
    """Plays the probabilities of a strategy.

    Args:
        game: the match, of which it reads what its seat knows.
        seat: its seat.
        strategy: information set -> probability of a bet or call.
        seed: fixes its draws.
    """

    def __init__(self, game: KuhnPoker, seat: int, strategy: Strategy, seed: int) -> None:
        self._game, self._seat, self._strategy = game, seat, strategy
        self._rng = random.Random(seed)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next word."""
        puts_in = self._rng.random() < self._strategy[self._game.information_set(self._seat)]
        passive, active = ("fold", "call") if "call" in self._game.admissible() else ("check", "bet")
        return active if puts_in else passive


class KuhnPokerEnv(SeatEnv):
    """A match from one seat.

    Args:
        seat: 0 or 1; seat 0 moves first in the first hand.
        opponent: see `SeatEnv`; the script plays an equilibrium.
        num_hands: hands in a match.
        render_mode: `ansi` or None.
    """

    def __init__(
        self,
        seat: int = 0,
        opponent: Opponent = "script",
        num_hands: int = 10,
        render_mode: str | None = None,
    ) -> None:
        self.rules = KuhnPoker(num_hands)
        super().__init__(self.rules, seat, opponent, render_mode)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; the script puts a chip in wherever it can."""
        always = dict.fromkeys(INFORMATION_SETS, 1.0)
        return super().baselines(seed) | {"script": StrategyPolicy(self.rules, self.seat, always, seed)}
