"""`molt/Negotiation-v0`: two sides with private values share out a few things, in text.

In: `propose`, `accept`, `reject`, `say`. Out: offers in words; the value of the deal is the reward.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping
from typing import Any

from molt_envs.env import ActionGrammar, EnvCard, Task
from molt_envs.multi_agent import Opponent, SeatEnv, TextGame
from molt_envs.policy import Policy

SUMMARY = "Share out a few things with a partner whose values are hidden, by proposals in text"
SYSTEM_PROMPT = (
    "You share out some things with a partner. Each of you knows only what the things are worth to itself. "
    "Each turn, write one of: propose N thing, N thing (what you want to keep; the partner gets the rest), "
    "accept (the partner's offer), reject (it), say WORDS. A deal counts for you only if it reaches your "
    "limit; without a deal both get nothing. You are scored by the worth of your part, compared with the "
    "best part that leaves the partner at its limit."
)
GRAMMAR = ActionGrammar(
    "propose N thing, N thing; accept; reject; say WORDS",
    "propose 1 book",
    r"(?m)^(?:propose|accept|reject|say)\b.*$",
)
THINGS = ("apple", "book", "candle", "drum", "hat", "kite", "lamp", "map", "pen", "ring", "shell", "vase")
NUM_SAID_CHARS = 200
NUM_LISTED_CHARS = 60

Part = tuple[int, ...]
"""How many of each kind one seat gets."""


class Negotiation(TextGame):
    """The rules.

    Args:
        num_moves: moves of each seat, after which there is no deal.
    """

    illegal_move = "noop"

    def __init__(self, num_moves: int = 5) -> None:
        if num_moves < 2:
            raise ValueError(f"num_moves is {num_moves}; an offer and an answer take two")
        splits = {"train": 10_000, "validation": 1_000, "test": 1_000}
        super().__init__(
            EnvCard(SUMMARY, SYSTEM_PROMPT, GRAMMAR, (0.0, 1.0), splits, max_turns=num_moves, bounded=True)
        )
        self.num_moves = num_moves

    def _begin(self, task: Task) -> None:
        rng = random.Random(f"negotiation {task.task_id}")
        while True:
            self.kinds: tuple[str, ...] = tuple(sorted(rng.sample(THINGS, 4)))
            self.counts: Part = tuple(rng.randint(1, 3) for _ in self.kinds)
            self._values = [tuple(rng.randint(0, 9) for _ in self.kinds) for _ in self.seats]
            self._parts = tuple(itertools.product(*(range(count + 1) for count in self.counts)))
            self._limits = [max(1, round(0.3 * self.worth(seat, self.counts))) for seat in (0, 1)]
            if self._needs_the_partners_values(0) and self._needs_the_partners_values(1):
                break
        self._proposals = tuple(f"propose {self.words(part)}" for part in self._parts)
        self._moves_left = [self.num_moves, self.num_moves]
        self._offer: tuple[int, Part] | None = None
        self._shares: list[float] = [0.0, 0.0]
        for seat in (0, 1):
            worths = ", ".join(
                f"a {kind} {worth}" for kind, worth in zip(self.kinds, self._values[seat], strict=True)
            )
            self.tell(
                f"On the table: {self.words(self.counts)}. Worth to you: {worths}; "
                f"{self.worth(seat, self.counts)} in all. Your limit is {self._limits[seat]}.",
                seat,
            )

    def _needs_the_partners_values(self, seat: int) -> bool:
        """Whether there is a best part, and giving away all of one kind is not the way to it."""
        best = self.best_part(seat)
        given = () if best is None else self.rest(best)
        kinds = [number == count for number, count in zip(given, self.counts, strict=False) if number]
        return best is not None and kinds != [True]

    def words(self, part: Part) -> str:
        """`2 books, 1 hat`, as a proposal says it."""
        named = [
            f"{number} {kind}{'s' if number > 1 else ''}"
            for number, kind in zip(part, self.kinds, strict=True)
            if number
        ]
        return ", ".join(named) or f"0 {self.kinds[0]}s"

    def rest(self, part: Part) -> Part:
        """What the other seat gets."""
        return tuple(count - number for count, number in zip(self.counts, part, strict=True))

    def worth(self, seat: int, part: Part) -> int:
        """What `part` is worth to `seat`."""
        return sum(value * number for value, number in zip(self._values[seat], part, strict=True))

    def limit(self, seat: int) -> int:
        """The least worth that counts for `seat`."""
        return self._limits[seat]

    def offered(self, seat: int) -> Part | None:
        """What `seat` would get by accepting now."""
        return self.rest(self._offer[1]) if self._offer and self._offer[0] != seat else None

    def moves_left(self, seat: int) -> int:
        """Moves that `seat` still has, the present one included."""
        return self._moves_left[seat]

    def parts(self) -> tuple[Part, ...]:
        """Every possible part."""
        return self._parts

    def best_part(self, seat: int) -> Part | None:
        """The part worth most to `seat` that leaves both at their limits; None where there is none."""
        fair = [
            part
            for part in self._parts
            if self.worth(seat, part) >= self._limits[seat]
            and self.worth(1 - seat, self.rest(part)) >= self._limits[1 - seat]
        ]
        return max(fair, key=lambda part: (self.worth(seat, part), -sum(part)), default=None)

    def _play(self, seat: int, action: str) -> tuple[float, ...]:
        verb, _, words = action.partition(" ")
        offered = self.offered(seat)
        other, name = 1 - seat, self.seats[seat]
        self._moves_left[seat] -= 1
        self.mover = other if self._moves_left[other] else None
        wish = self._read(words) if verb == "propose" else None
        if verb == "accept" and offered is not None:
            return self._deal(seat, offered)
        if wish is not None:
            self._offer = (seat, wish)
            self.tell(f"You propose to keep {self.words(wish)}.", seat)
        elif verb == "reject" and offered is not None:
            self._offer = None
            self.tell("You reject the offer.", seat)
            self.tell(f"{name} rejects your offer.", other)
        elif verb == "say" and words:
            self.tell(f'{name} says: "{words[:NUM_SAID_CHARS]}"', other)
        else:
            self.tell(f"{action[:NUM_LISTED_CHARS]!r} is no legal move here; the move is used up.", seat)
            self.tell(f"{name} makes no legal move.", other)
        if self.mover is None:
            self.tell("There is no deal.")
        return 0.0, 0.0

    def _read(self, words: str) -> Part | None:
        """The part that a proposal names; None when it names none that there is."""
        part = {kind: 0 for kind in self.kinds}
        for piece in re.split(r",| and ", words):
            found = re.fullmatch(r"\s*(\d{1,2}) ([a-z]+?)s?\s*", piece)
            if found is None or found.group(2) not in part:
                return None
            part[found.group(2)] += int(found.group(1))
        numbers = tuple(part.values())
        return numbers if numbers in self._parts else None

    def _deal(self, seat: int, part: Part) -> tuple[float, ...]:
        self.mover = None
        for side, got in ((seat, part), (1 - seat, self.rest(part))):
            worth, best = self.worth(side, got), self.best_part(side)
            assert best is not None
            if worth >= self._limits[side]:
                self._shares[side] = min(1.0, worth / self.worth(side, best))
            self.tell(f"Deal: you get {self.words(got)}, worth {worth} to you.", side)
        return tuple(self._shares)

    def _ask(self, seat: int) -> str:
        if self.mover is None:
            return ""
        offered = self.offered(seat)
        lines = [f"Moves left: {self._moves_left[seat]}."]
        if offered is not None:
            worth = self.worth(seat, offered)
            lines.insert(0, f"{self.seats[1 - seat]} offers you {self.words(offered)}, worth {worth} to you.")
        return " ".join(lines)

    def admissible(self) -> tuple[str, ...]:
        """Every proposal, and accepting or rejecting where there is an offer; not what may be said."""
        if self.mover is None:
            return ()
        answers = ("accept", "reject") if self.offered(self.mover) is not None else ()
        return answers + self._proposals

    def score(self, seat: int) -> float:
        """The worth of the deal over the best that was there; 0 without one."""
        return self._shares[seat]

    def success(self, seat: int) -> bool:
        """Whether no deal that the partner would take is worth more."""
        return self._shares[seat] == 1.0

    def script(self, seat: int, seed: int) -> Policy:
        """Concedes move by move."""
        return ConcedingPolicy(self, seat, seed)

    def oracle(self, seat: int, seed: int, noise: float) -> Policy:
        """Insists on the best part that leaves the partner at its limit; `noise` wastes moves."""
        return InsistingPolicy(self, seat, seed, noise)


class ConcedingPolicy:
    """Asks for less with every move, down to six tenths of all; takes less still, down to its limit.

    So who only waits for its offers does worse than who finds out what it would take.

    Args:
        game: the game, of which it reads its own side.
        seat: its seat.
        seed: decides between proposals of equal size.
    """

    def __init__(self, game: Negotiation, seat: int, seed: int) -> None:
        self._game, self._seat = game, seat
        self._rng = random.Random(seed)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next move."""
        game, seat = self._game, self._seat
        total = game.worth(seat, game.counts)
        conceded = (game.num_moves - game.moves_left(seat)) / (game.num_moves - 1)
        offered = game.offered(seat)
        if offered is not None and game.worth(seat, offered) >= _between(
            0.9 * total, game.limit(seat), conceded
        ):
            return "accept"
        least = _between(0.9 * total, 0.6 * total, conceded)
        enough = [part for part in game.parts() if game.worth(seat, part) >= least]
        part = min(enough, key=lambda part: (sum(part), self._rng.random()))
        return f"propose {game.words(part)}"


def _between(start: float, end: float, share: float) -> float:
    return start + (end - start) * share


class FallingPolicy:
    """Asks for a little less with every move, whatever the partner says: the best plan without a look at it.

    Args:
        game: the game, of which it reads its own side.
        seat: its seat.
    """

    def __init__(self, game: Negotiation, seat: int) -> None:
        self._game, self._seat = game, seat

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next move."""
        game, seat = self._game, self._seat
        conceded = (game.num_moves - game.moves_left(seat)) / (game.num_moves - 1)
        least = _between(0.95, 0.7, conceded) * game.worth(seat, game.counts)
        enough = [part for part in game.parts() if game.worth(seat, part) >= least]
        part = min(enough, key=lambda part: (sum(part), -game.worth(seat, part)))
        return f"propose {game.words(part)}"


class InsistingPolicy:
    """Knows both sides; proposes the same best part until it is accepted.

    Args:
        game: the game.
        seat: its seat.
        seed: fixes which moves are wasted.
        noise: share of moves that are wasted by words.
    """

    def __init__(self, game: Negotiation, seat: int, seed: int, noise: float) -> None:
        self._game, self._seat, self._noise = game, seat, noise
        self._rng = random.Random(seed)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The next move."""
        game, seat = self._game, self._seat
        if self._rng.random() < self._noise:
            return "say Let me think about it."
        best, offered = game.best_part(seat), game.offered(seat)
        assert best is not None
        if offered is not None and game.worth(seat, offered) >= game.worth(seat, best):
            return "accept"
        return f"propose {game.words(best)}"


class NegotiationEnv(SeatEnv):
    """A negotiation from one seat.

    Args:
        seat: 0 or 1; seat 0 opens.
        opponent: see `SeatEnv`; the script concedes move by move.
        num_moves: moves of each seat.
        render_mode: `ansi` or None.
    """

    def __init__(
        self, seat: int = 0, opponent: Opponent = "script", num_moves: int = 5, render_mode: str | None = None
    ) -> None:
        self.rules = Negotiation(num_moves)
        super().__init__(self.rules, seat, opponent, render_mode)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; the script asks for less and less, whatever the partner says."""
        return super().baselines(seed) | {"script": FallingPolicy(self.rules, self.seat)}
