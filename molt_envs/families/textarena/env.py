"""`molt/TextArena-v0`: a game of textarena, alone or from one seat against policies.

In: actions as the game's own rules ask for them, mostly in square brackets. Out: the game's messages; the
library's reward comes with the end.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import random
from collections.abc import Generator

from molt_envs.env import ActionGrammar, EnvCard, Task
from molt_envs.extras import import_extra
from molt_envs.multi_agent import Opponent, SeatEnv, TextGame
from molt_envs.policy import FixedScript, Policy

SUMMARY = "A game of textarena, alone or from one seat against policies, scripts or people"
SYSTEM_PROMPT = (
    "Play the game. Its rules come first; each turn, write one action in the form that they ask for."
)
GRAMMAR = ActionGrammar("what the game's rules ask for, mostly in square brackets", "[1 2 3 4]")
SPLITS = {"train": 10_000, "validation": 1_000, "test": 1_000}
# What games raise that lack a word list, a service or a newer Python.
_UNAVAILABLE = (ImportError, LookupError, OSError, SyntaxError, ValueError)


class TextArenaGame(TextGame):
    """One game of the library behind the hub's rules.

    Args:
        name: an id in textarena, such as `Mastermind-v0`.
        num_players: seats; the game says how many it takes.
        max_turns: moves of one seat after which a game is truncated.

    Raises:
        ImportError: textarena is not installed.
        ValueError: no such game, or one that does not start here; the message has the library's reason.
    """

    illegal_move = "loss"

    def __init__(self, name: str = "Mastermind-v0", num_players: int = 1, max_turns: int = 100) -> None:
        library = import_extra("textarena", "textarena", "molt/TextArena-v0")
        registry = import_extra("textarena.envs.registration", "textarena", "molt/TextArena-v0").ENV_REGISTRY
        if f"{name}-raw" not in registry:
            near = difflib.get_close_matches(name, [str(known) for known in registry], n=3, cutoff=0.4)
            raise ValueError(f"game is {name!r}, which textarena does not have; near: {', '.join(near)}")
        self.seats = tuple(f"player_{seat}" for seat in range(num_players))
        self._random_state = random.getstate()
        try:
            with self._apart():
                self._env = library.make(f"{name}-raw")
                self._env.reset(num_players=num_players, seed=0)
        except (AssertionError, *_UNAVAILABLE) as error:
            reason = " ".join(str(error).split())[:300]
            raise ValueError(f"{name} does not start with {num_players} players: {reason}") from error
        super().__init__(EnvCard(SUMMARY, SYSTEM_PROMPT, GRAMMAR, (-1.0, 1.0), SPLITS, max_turns))

    def _begin(self, task: Task) -> None:
        names = list(SPLITS)
        start = sum(SPLITS[name] for name in names[: names.index(task.split)])
        self._rewards = dict.fromkeys(range(len(self.seats)), 0.0)
        with self._apart():
            self._env.reset(num_players=len(self.seats), seed=start + task.index)
        self._pass_on()

    def _play(self, seat: int, action: str) -> tuple[float, ...]:
        with self._apart():
            done, _ = self._env.step(action)
        if done:
            rewards, _ = self._env.close()
            for player, reward in rewards.items():
                # Some games put a message where a number belongs; it says that the game is lost.
                self._rewards[player] = (
                    max(-1.0, min(1.0, reward)) if isinstance(reward, (int, float)) else 0.0
                )
        self._pass_on()
        if done:
            self.mover = None
        return tuple(self._rewards[player] for player in range(len(self.seats)))

    def _pass_on(self) -> None:
        """Tell every seat its new messages, but not its own actions."""
        state = self._env.state
        self.mover = int(state.current_player_id)
        for seat in range(len(self.seats)):
            messages, state.observations[seat] = state.observations[seat], []
            for sender, text, _ in messages:
                if sender == -1:
                    self.tell(str(text).strip(), seat)
                # Three games put the kind of message in the sender's place when they echo an action.
                elif isinstance(sender, int) and sender != seat:
                    self.tell(f"{self.seats[sender]}: {str(text).strip()}", seat)

    @contextlib.contextmanager
    def _apart(self) -> Generator[None]:
        """The library draws from Python's shared generator and prints; neither may reach anyone else."""
        outside = random.getstate()
        random.setstate(self._random_state)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                yield
        finally:
            self._random_state = random.getstate()
            random.setstate(outside)

    def _ask(self, seat: int) -> str:
        return "" if self.mover is not None else f"The game is over. Your score: {self._rewards[seat]:g}."

    def admissible(self) -> tuple[str, ...]:
        """Not listed: every game has its own form."""
        return ()

    def score(self, seat: int) -> float:
        """The library's reward, between -1 and 1; 0 before the end."""
        return self._rewards[seat]

    def success(self, seat: int) -> bool:
        """Whether the reward is 1: won, or solved."""
        return self._rewards[seat] >= 1

    def script(self, seat: int, seed: int) -> Policy:
        """There is none: give a policy as `opponent`."""
        raise ValueError(
            "textarena ships no scripts; pass opponent= a policy or a function from a seed to one"
        )

    def random_policy(self, seat: int, seed: int) -> Policy:
        """Writes one to four numbers in brackets, by chance."""
        rng = random.Random(seed)
        moves = [[str(rng.randint(0, 9)) for _ in range(rng.randint(1, 4))] for _ in range(64)]
        return FixedScript([f"[{' '.join(move)}]" for move in moves])


class TextArenaEnv(SeatEnv):
    """A game from one seat.

    Args:
        game: an id in textarena.
        num_players: seats; more than one needs an `opponent`.
        seat: the policy's seat.
        opponent: a policy, or a function from a seed to one; the library ships none.
        max_turns: moves after which an episode is truncated.
        render_mode: `ansi` or None.
    """

    def __init__(
        self,
        game: str = "Mastermind-v0",
        num_players: int = 1,
        seat: int = 0,
        opponent: Opponent = "script",
        max_turns: int = 100,
        render_mode: str | None = None,
    ) -> None:
        if num_players > 1 and opponent == "script":
            raise ValueError(f"{game} with {num_players} players needs opponent= a policy, such as Person()")
        super().__init__(TextArenaGame(game, num_players, max_turns), seat, opponent, render_mode)
