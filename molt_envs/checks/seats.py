"""Games for several seats: PettingZoo's own tests on the same rules.

In: a `Subject`. Out: `CheckFailed` or PettingZoo's `AssertionError` where a rule does not hold.
"""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from typing import TYPE_CHECKING

from molt_envs.checks.findings import require
from molt_envs.checks.subject import Check, Subject

if TYPE_CHECKING:
    from molt_envs.multi_agent import TextGame

ONE_SEAT = "it has one seat"
NUM_CYCLES, NUM_CYCLES_FULL = 50, 1000
NUM_GAMES, NUM_GAMES_FULL = 20, 1000


def _game(subject: Subject) -> TextGame | None:
    """The rules for all seats; None for other environments, which need no PettingZoo."""
    base = subject.make_base()
    if all(kind.__module__ != "molt_envs.multi_agent" for kind in type(base).__mro__):
        return None
    from molt_envs.multi_agent import SeatEnv

    return base.game if isinstance(base, SeatEnv) else None


def _check_pettingzoo(subject: Subject) -> str:
    game = _game(subject)
    if game is None:
        return ONE_SEAT
    from pettingzoo.test import api_test, parallel_api_test  # pyright: ignore

    from molt_envs.multi_agent import GameEnv, parallel_env

    num_cycles = NUM_CYCLES_FULL if subject.full else NUM_CYCLES
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # it asks for arrays and numeric spaces, and text is neither
        api_test(GameEnv(game), num_cycles=num_cycles)
        parallel_api_test(parallel_env(game), num_cycles=num_cycles)
    return f"api_test and parallel_api_test of {len(game.seats)} seats"


def _check_seats(subject: Subject) -> str:
    game = _game(subject)
    if game is None:
        return ONE_SEAT
    from molt_envs.multi_agent import GameEnv

    env, num_turns, (low, high) = GameEnv(game), 0, game.card.reward_range
    for seed in range(NUM_GAMES_FULL if subject.full else NUM_GAMES):
        env.reset(seed=seed)
        rng = random.Random(seed)
        while env.agents:
            agent = env.agent_selection
            over = env.terminations[agent] or env.truncations[agent]
            listed = env.infos[agent].get("admissible_actions") or ("",)
            env.step(None if over else rng.choice([*listed, "", "[]", "x" * 5000]))
            num_turns += not over
            for name, reward in env.rewards.items():
                fine = low <= reward <= high
                require(fine, f"seed {seed}: {name} gets {reward}, the range is [{low}, {high}]")
            most = len(game.seats) * game.card.max_turns * (seed + 1)
            require(num_turns <= most, f"seed {seed}: more than {game.card.max_turns} turns of a seat")
    return f"{num_turns} moves"


CHECKS = (
    Check("seats", "PettingZoo's own tests pass", _check_pettingzoo, "mend what PettingZoo names"),
    Check(
        "seats",
        "all seats' rewards stay in the declared range, whatever is played",
        _check_seats,
        "declare the range of every seat, and answer moves that are not legal",
    ),
)
