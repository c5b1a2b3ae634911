"""Games for several seats: PettingZoo's own tests, every kind of opponent, and a thousand games."""

from __future__ import annotations

import io
import random
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import pytest
from pettingzoo.test import api_test, parallel_api_test, seed_test

import molt_envs
from molt_envs.families.games.kuhn import KuhnPoker
from molt_envs.families.games.negotiation import Negotiation
from molt_envs.families.games.word_clues import WordClues
from molt_envs.multi_agent import GameEnv, Person, SeatEnv, TextGame, parallel_env

GAMES: dict[str, Callable[[], TextGame]] = {
    "molt/KuhnPoker-v0": KuhnPoker,
    "molt/Negotiation-v0": Negotiation,
    "molt/WordClues-v0": WordClues,
}
IDS = sorted(GAMES)


def play(env: GameEnv, policies: Mapping[str, Any]) -> dict[str, float]:
    """One game from the running reset to its end; every agent's return."""
    returns = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        returns[agent] += reward
        over = terminated or truncated
        assert observation is not None
        env.step(None if over else policies[agent].act(observation["text"], info))
    return returns


@pytest.mark.parametrize("env_id", IDS)
def test_pettingzoo_accepts_it(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module="pettingzoo")
        # It asks for NumPy observations and numeric spaces; text is neither.
        warnings.filterwarnings(
            "ignore", message="Observation is not a NumPy array|.*probably should be gymnasium"
        )
        api_test(GameEnv(GAMES[env_id]()), num_cycles=200)
        parallel_api_test(parallel_env(GAMES[env_id]()), num_cycles=200)
        seed_test(lambda: GameEnv(GAMES[env_id]()), num_cycles=50)


@pytest.mark.parametrize("env_id", IDS)
def test_a_thousand_games_of_two_different_policies_end_without_an_error(env_id: str) -> None:
    env, lengths = GameEnv(GAMES[env_id]()), set()
    for seed in range(1000):
        env.reset(seed=seed)
        policies = {
            name: env.game.script(seat, seed) if seat == seed % 2 else env.game.random_policy(seat, seed)
            for seat, name in enumerate(env.possible_agents)
        }
        play(env, policies)
        assert env.agents == []
        assert env.game.mover is None, "the game ended by itself, not by the turn limit"
        lengths.add(sum(env._turns.values()))
    assert len(lengths) > 1


@pytest.mark.parametrize("env_id", IDS)
def test_the_seat_view_and_the_cycle_show_the_same_game(env_id: str) -> None:
    view: Any = gymnasium.make(env_id, seat=1, opponent="script").unwrapped
    env = GameEnv(GAMES[env_id]())
    for seed in range(20):
        observation, info = view.reset(seed=seed)
        env.reset(options={"task_id": info["task_id"]})
        mine = env.game.random_policy(1, seed)
        opponent_seed = int(_seeds(view, seed)[0])
        other = env.game.script(0, opponent_seed)
        total, over = 0.0, False
        returns = play(env, {"player_0": other, "player_1": mine})
        mine = view.game.random_policy(1, seed)
        while not over:
            observation, reward, terminated, truncated, info = view.step(mine.act(observation, info))
            total, over = total + reward, terminated or truncated
        assert total == pytest.approx(returns["player_1"])
        assert info["score"] == env.game.score(1)


def _seeds(view: SeatEnv, seed: int) -> Any:
    """The opponents' seeds that the view drew after its task."""
    view.reset(seed=seed)
    state = view.np_random.bit_generator.state
    rng, _ = gymnasium.utils.seeding.np_random(seed)
    rng.integers(2**63)
    seeds = rng.integers(2**31, size=2)
    assert rng.bit_generator.state == state
    return seeds


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("opponent", ["random", "script", molt_envs.RandomAdmissible])
def test_every_kind_of_opponent_plays_to_the_end(env_id: str, seat: int, opponent: Any) -> None:
    env = gymnasium.make(env_id, seat=seat, opponent=opponent)
    observation, info = env.reset(seed=3)
    rng, over = random.Random(0), False
    while not over:
        observation, _, terminated, truncated, info = env.step(rng.choice(info["admissible_actions"]))
        over = terminated or truncated
    assert terminated and observation


def test_a_person_reads_the_game_and_writes_the_moves() -> None:
    screen = io.StringIO()
    person = Person(io.StringIO("bet\nfold\n"), screen)
    env = gymnasium.make("molt/KuhnPoker-v0", num_hands=1, seat=1, opponent=person)
    observation, _ = env.reset(seed=0)
    assert "player_0 bets 1 chip." in observation
    assert screen.getvalue().startswith("Hand 1 of 1.") and screen.getvalue().endswith("\n> ")
    env.step("call")


def test_a_person_who_leaves_is_a_policy_error() -> None:
    with pytest.raises(molt_envs.PolicyError, match="input has ended"):
        Person(io.StringIO(""), io.StringIO()).act("Your move.", {})


@pytest.mark.parametrize(
    ("options", "message"),
    [({"seat": 2}, "seat is 2; this game has seats 0 to 1"), ({"opponent": "me"}, "opponent is 'me'")],
)
def test_a_seat_or_opponent_that_is_not_there_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SeatEnv(KuhnPoker(), **options)


def test_a_game_without_end_is_truncated_for_all() -> None:
    env = GameEnv(KuhnPoker(num_hands=40))
    env.game.card = KuhnPoker(num_hands=1).card
    env.reset(seed=0, options={"split": "train"})
    while not any(env.truncations.values()):
        env.step("check")
    assert all(env.truncations.values()) and env._turns == {"player_0": 2, "player_1": 2}


def test_a_step_without_a_running_game_is_an_error() -> None:
    env = GameEnv(KuhnPoker())
    with pytest.raises(molt_envs.EpisodeDone):
        env.step("check")
    env.reset(seed=0)
    with pytest.raises(molt_envs.TaskError):
        env.reset(options={"split": "nowhere"})
    with pytest.raises(molt_envs.EpisodeDone):
        env.step("check")


def test_a_step_that_is_no_text_is_refused() -> None:
    env = GameEnv(KuhnPoker())
    env.reset(seed=0)
    with pytest.raises(TypeError, match="an action is a str, not NoneType"):
        env.step(None)


def test_a_task_is_named_and_repeated() -> None:
    env = GameEnv(KuhnPoker())
    env.reset(seed=5)
    name, shown = env.infos["player_0"]["task_id"], env.observe("player_0")
    env.reset(seed=6)
    env.reset(options={"task_id": name})
    assert env.observe("player_0") == shown and env.infos["player_1"]["task_id"] == name
