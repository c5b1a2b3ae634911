"""Games of textarena: told turn by turn, the same for the same task, alone and against others."""

from __future__ import annotations

import random
from typing import Any

import gymnasium
import pytest

import molt_envs  # noqa: F401 - registers the ids
from molt_envs.multi_agent import GameEnv
from molt_envs.policy import FixedScript

pytest.importorskip("textarena", reason="needs the extra textarena")
from molt_envs.families.textarena.env import TextArenaGame

ENV_ID = "molt/TextArena-v0"


def make(**options: Any) -> Any:
    return gymnasium.make(ENV_ID, **options).unwrapped


def tic_tac_toe(moves: str, seat: int = 0) -> Any:
    """The view from `seat` against an opponent that marks the cells of `moves` in turn."""
    script = [f"[{cell}]" for cell in moves]
    return make(game="TicTacToe-v0", num_players=2, seat=seat, opponent=lambda seed: FixedScript(script))


def test_a_game_alone_shows_its_rules_then_only_what_is_new() -> None:
    env = make()
    observation, info = env.reset(seed=0)
    assert observation.startswith("You are playing Mastermind.")
    assert "admissible_actions" not in info
    observation, reward, terminated, _, _ = env.step("[1 2 3 4]")
    assert observation.startswith("Submitted [1 2 3 4]. Feedback:") and "You are playing" not in observation
    assert (reward, terminated) == (0.0, False)


def test_a_solved_game_ends_with_reward_one() -> None:
    env = make(game="GuessTheNumber-v0")
    rewards = []
    for number in range(1, 11):
        env.reset(options={"task_id": "train:0"})
        _, reward, terminated, _, info = env.step(f"[{number}]")
        rewards.append((reward, terminated, info["success"]))
    env.reset(options={"task_id": "train:0"})
    for number in range(1, 21):
        _, reward, terminated, _, info = env.step(f"[{number}]")
        if terminated:
            break
    assert (reward == 1.0) is info["success"]
    assert all(ended == solved == (reward == 1.0) for reward, ended, solved in rewards)


def test_games_of_one_process_do_not_disturb_each_other_nor_the_shared_generator() -> None:
    alone, first, second = make(), make(), make()
    random.seed(5)
    expected = random.random()
    random.seed(5)
    shown = [alone.reset(seed=2), *(alone.step(f"[{guess}]") for guess in ("1 2 3 4", "2 1 3 5"))]
    mixed = [first.reset(seed=2)]
    second.reset(seed=3)
    for guess in ("1 2 3 4", "2 1 3 5"):
        second.step("[6 5 4 3]")
        mixed.append(first.step(f"[{guess}]"))
    assert mixed == shown
    assert random.random() == expected


def test_different_tasks_are_different_games() -> None:
    env, answers = make(), set()
    for index in range(10):
        env.reset(options={"task_id": f"test:{index}"})
        answers.add(env.step("[1 2 3 4]")[0])
    assert len(answers) > 3


def test_an_opponent_is_played_inside_of_a_step_and_loses() -> None:
    env = tic_tac_toe("345", seat=0)
    env.reset(seed=0)
    env.step("[0]")
    observation, *_ = env.step("[1]")
    assert "player_1: [4]" in observation and "player_0: [1]" not in observation
    _, reward, terminated, _, info = env.step("[2]")
    assert (reward, terminated, info["success"]) == (1.0, True, True)


def test_a_lost_game_costs_one() -> None:
    env = tic_tac_toe("012", seat=1)
    observation, _ = env.reset(seed=0)
    assert "player_0: [0]" in observation
    env.step("[4]")
    _, reward, terminated, _, info = env.step("[8]")
    assert (reward, terminated, info["success"]) == (-1.0, True, False)


def test_a_game_for_two_is_a_pettingzoo_environment() -> None:
    env = GameEnv(TextArenaGame("TicTacToe-v0", 2))
    env.reset(seed=0)
    for cell in "03142":
        env.step(f"[{cell}]")
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"game": "Mastermid-v0"}, "game is 'Mastermid-v0', which textarena does not have; near: Mastermind"),
        ({"game": "TicTacToe-v0"}, "TicTacToe-v0 does not start with 1 players: .*has to be 2"),
        ({"game": "TicTacToe-v0", "num_players": 2}, "needs opponent= a policy"),
    ],
)
def test_a_game_that_cannot_start_says_why(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.real
def test_the_games_for_one_that_start_here_repeat_themselves_and_end() -> None:
    for name in SOLO_GAMES:
        shown = []
        for env in (make(game=name), make(game=name)):
            policy, seen = env.game.random_policy(0, seed=1), [env.reset(seed=4)]
            while not (seen[-1][2:] and (seen[-1][2] or seen[-1][3])):
                seen.append(env.step(policy.act("", {})))
                if len(seen) > 101:
                    raise AssertionError(f"{name} does not end")
            shown.append(seen)
        assert shown[0] == shown[1], name


SOLO_GAMES = [
    f"{name}-v0"
    for name in (
        *("2048", "Bandit", "Blackjack", "Countdown", "Crosswords", "Cryptarithm", "FifteenPuzzle"),
        *("FrozenLake", "GuessTheNumber", "LightsOut", "LogicPuzzle", "Mastermind", "Minesweeper", "PegJump"),
        *(
            "RushHour",
            "Secretary",
            "Set",
            "Slitherlink",
            "Sokoban",
            "Sudoku",
            "ThreeCardMonte",
            "TowerOfHanoi",
        ),
    )
]
