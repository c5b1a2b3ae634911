"""Text games for several seats: the rules once, played as PettingZoo environments or from one seat.

In: the rules (`TextGame`) and who sits where. Out: `GameEnv` (an AEC environment), `parallel_env`, and
`SeatEnv`, an `AgentEnv` in which the other seats are policies, scripts or people.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, TextIO

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from pettingzoo.utils.conversions import (  # pyright: ignore[reportMissingTypeStubs]
    turn_based_aec_to_parallel,
)
from pettingzoo.utils.env import AECEnv, ParallelEnv  # pyright: ignore[reportMissingTypeStubs]

from molt_envs.env import AgentEnv, EnvCard, Task, Turn, draw_task
from molt_envs.errors import EpisodeDone, PolicyError
from molt_envs.policy import FixedScript, Policy, RandomAdmissible
from molt_envs.spaces import UnicodeText

TextObservation = dict[str, str]
PolicyFactory = Callable[[int], Policy]
Opponent = Literal["random", "script"] | Policy | PolicyFactory


class TextGame(ABC):
    """The rules of one game. Subclasses implement `_begin`, `_play` and what the seats are told.

    Args:
        card: what all seats share; `max_turns` counts the moves of one seat.
    """

    seats: tuple[str, ...] = ("player_0", "player_1")
    """Names of the seats, in the form that PettingZoo recommends."""
    illegal_move: Literal["loss", "noop"]
    """What an illegal move does: it loses what is being played for, or it only uses up the move."""

    def __init__(self, card: EnvCard) -> None:
        self.card = card
        self.mover: int | None = None
        """The seat that moves next; None when the game is over."""
        self._news: list[list[str]] = []

    def begin(self, task: Task) -> None:
        """Start a game; the task fixes all of its chances."""
        self._news = [[] for _ in self.seats]
        self.mover = 0
        self._begin(task)

    def play(self, action: str) -> tuple[float, ...]:
        """The mover's move, any string at all; returns every seat's reward for it."""
        assert self.mover is not None
        self._news[self.mover].clear()
        return self._play(self.mover, action.strip())

    def observe(self, seat: int) -> str:
        """What `seat` was told since its last move, and what it is asked now."""
        return "\n".join([*self._news[seat], *filter(None, [self._ask(seat)])])

    def tell(self, text: str, *seats: int) -> None:
        """Show `text` to `seats`, or to all."""
        for seat in seats or range(len(self.seats)):
            self._news[seat].append(text)

    @abstractmethod
    def _begin(self, task: Task) -> None:
        """Set up `task`; `mover` is 0 unless this changes it."""

    @abstractmethod
    def _play(self, seat: int, action: str) -> tuple[float, ...]:
        """Apply a move, tell the seats, set `mover`; rewards by seat."""

    @abstractmethod
    def _ask(self, seat: int) -> str:
        """The last lines of `seat`'s observation: its view of the state, or an empty string."""

    @abstractmethod
    def admissible(self) -> tuple[str, ...]:
        """Legal moves of the mover; for free text, those that can be listed, or none."""

    @abstractmethod
    def score(self, seat: int) -> float:
        """The result of `seat` so far."""

    @abstractmethod
    def success(self, seat: int) -> bool:
        """Whether `seat` has reached what a task asks of it."""

    @abstractmethod
    def script(self, seat: int, seed: int) -> Policy:
        """The opponent that ships, for `seat`, knowing what that seat may know."""

    def seat_card(self, seat: int) -> EnvCard:
        """The card of the view from `seat`, with its own system prompt and grammar where they differ."""
        return self.card

    def random_policy(self, seat: int, seed: int) -> Policy:
        """A policy that plays legal moves by chance."""
        return RandomAdmissible(seed)

    def oracle(self, seat: int, seed: int, noise: float) -> Policy | None:
        """The best play of `seat` against the script, knowing everything; None where none is known."""
        return None

    def info(self, seat: int) -> dict[str, Any]:
        """`score` and `success`, and `admissible_actions` for the mover where they are listed."""
        result: dict[str, Any] = {"score": self.score(seat), "success": self.success(seat)}
        moves = self.admissible() if seat == self.mover else ()
        if moves:
            result["admissible_actions"] = moves
        return result


class GameEnv(AECEnv[str, TextObservation, str | None]):
    """A text game as PettingZoo's agent environment cycle.

    An observation is `{"text": …}`, since PettingZoo's own test asks bare values for a NumPy dtype.
    Reset options are `split` and `task_id`; others are left alone, as PettingZoo does.
    """

    def __init__(self, game: TextGame, render_mode: str | None = None) -> None:
        super().__init__()
        self.game = game
        self.metadata = {
            "name": type(game).__name__,
            "render_modes": ["ansi"],
            "is_parallelizable": True,
            "render_fps": 1,
        }
        self.render_mode = render_mode
        self.possible_agents = list(game.seats)
        self.agents = []
        space = UnicodeText(game.card.max_observation_chars)
        spaces: dict[str, gymnasium.spaces.Space[Any]]
        spaces = {name: gymnasium.spaces.Dict({"text": space}) for name in game.seats}
        self.observation_spaces = spaces
        self.action_spaces = {name: UnicodeText(2**20) for name in game.seats}
        self._rng: np.random.Generator | None = None

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The same space object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The same space object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game; without a seed the next one of the running sequence.

        Raises:
            TaskError: a split or a task that the game does not have.
        """
        self.agents = []  # a refused reset must not leave the game before it running
        if seed is not None or self._rng is None:
            self._rng, _ = seeding.np_random(seed)
        known = {key: value for key, value in (options or {}).items() if key in ("split", "task_id")}
        self.task = draw_task(self.game.card.splits, self._rng, known)
        self.game.begin(self.task)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._turns = dict.fromkeys(self.agents, 0)
        self._select()

    def step(self, action: str | None) -> None:
        """The selected agent's move; None once it is out.

        Raises:
            EpisodeDone: no game is running.
        """
        if not self.agents:
            raise EpisodeDone("step() without a running game: it has ended or was never reset; call reset()")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if not isinstance(action, str):
            raise TypeError(f"an action is a str, not {type(action).__name__}")
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict(zip(self.agents, self.game.play(action), strict=True))
        self._turns[agent] += 1
        following = self.game.mover
        over = following is None
        cut = (
            following is not None and self._turns[self.possible_agents[following]] >= self.game.card.max_turns
        )
        self.terminations = dict.fromkeys(self.agents, over)
        self.truncations = dict.fromkeys(self.agents, cut)
        self._accumulate_rewards()
        self._select()

    def observe(self, agent: str) -> TextObservation:
        """What `agent` was told since its last move."""
        return {"text": self.game.observe(self.possible_agents.index(agent))}

    def render(self) -> str:
        """All seats' observations, for people."""
        return "\n".join(f"[{name}] {self.observe(name)['text']}" for name in self.possible_agents)

    def close(self) -> None:
        """Nothing is held."""

    def _select(self) -> None:
        self.agent_selection = self.possible_agents[self.game.mover or 0]
        self.infos = {
            name: {
                "task_id": self.task.task_id,
                "split": self.task.split,
                "turn": self._turns[name],
                **self.game.info(seat),
            }
            for seat, name in enumerate(self.possible_agents)
        }


def parallel_env(game: TextGame, render_mode: str | None = None) -> ParallelEnv[str, TextObservation, Any]:
    """The game under PettingZoo's Parallel API: every agent sends a text, only the mover's one is played."""
    return turn_based_aec_to_parallel(GameEnv(game, render_mode))


class SeatEnv(AgentEnv):
    """A text game seen from one seat; the others are played inside of `step`.

    Args:
        game: the rules.
        seat: which seat the policy takes.
        opponent: who takes the others: `random`, `script`, a policy that is kept from game to game (such
            as `Person()`), or a function from a seed to the policy of one game.
        render_mode: `ansi` or None.
    """

    def __init__(
        self, game: TextGame, seat: int = 0, opponent: Opponent = "script", render_mode: str | None = None
    ) -> None:
        if seat not in range(len(game.seats)):
            raise ValueError(f"seat is {seat!r}; this game has seats 0 to {len(game.seats) - 1}")
        if isinstance(opponent, str) and opponent not in ("random", "script"):
            raise ValueError(f"opponent is {opponent!r}; choose 'random', 'script', a policy or a function")
        super().__init__(game.seat_card(seat), render_mode)
        self.game = game
        self.seat = seat
        self._opponent = opponent
        self._others: dict[int, Policy] = {}

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy | None:
        """See `AgentEnv.oracle`; it knows the script, so against other opponents there is none."""
        self.running_task()
        return self.game.oracle(self.seat, seed, noise) if self._opponent == "script" else None

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; a fixed script writes the example action for ever."""
        return {
            "nothing": FixedScript([""]),
            "random": self.game.random_policy(self.seat, seed),
            "script": FixedScript([self.card.grammar.example]),
        }

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self.game.begin(task)
        seeds = rng.integers(2**31, size=len(self.game.seats))
        self._others = {
            other: self._seated(other, int(seeds[other]))
            for other in range(len(self.game.seats))
            if other != self.seat
        }
        return self._until_my_move(0.0)

    def _act(self, action: str) -> Turn:
        return self._until_my_move(self.game.play(action)[self.seat])

    def _seated(self, other: int, seed: int) -> Policy:
        if isinstance(self._opponent, str):
            seated = self.game.script if self._opponent == "script" else self.game.random_policy
            return seated(other, seed)
        return self._opponent(seed) if callable(self._opponent) else self._opponent

    def _until_my_move(self, reward: float) -> Turn:
        while self.game.mover not in (None, self.seat):
            other = self.game.mover
            assert other is not None
            action = self._others[other].act(self.game.observe(other), self.game.info(other))
            reward += self.game.play(action)[self.seat]
        info = self.game.info(self.seat)
        return Turn(
            self.game.observe(self.seat),
            reward,
            terminated=self.game.mover is None,
            score=info["score"],
            success=info["success"],
            admissible_actions=info.get("admissible_actions"),
        )


class Person:
    """A policy that shows each observation to a person and reads one line as the action.

    Args:
        source: where lines come from; None for the standard input, found when it is read.
        screen: where observations are written; None for the standard output.
    """

    def __init__(self, source: TextIO | None = None, screen: TextIO | None = None) -> None:
        self._source = source
        self._screen = screen

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """The line that the person wrote.

        Raises:
            PolicyError: the input has ended.
        """
        screen = self._screen or sys.stdout
        screen.write(f"{observation}\n> ")
        screen.flush()
        line = (self._source or sys.stdin).readline()
        if not line:
            raise PolicyError("the person's input has ended before the game")
        return line.rstrip("\n")
