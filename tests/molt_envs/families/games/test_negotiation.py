"""The rules of the negotiation, its limits, and how little can be had without skill."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import molt_envs  # noqa: F401 - registers the ids
from molt_envs import Task
from molt_envs.families.games.negotiation import Negotiation
from tests.molt_envs.families.games.seats import wins


def started(num_moves: int = 5) -> Negotiation:
    game = Negotiation(num_moves)
    game.begin(Task("train", 0))
    return game


def test_a_deal_gives_each_seat_its_share_of_its_best() -> None:
    game = started()
    best = game.best_part(0)
    assert best is not None
    game.play(f"propose {game.words(best)}")
    rewards = game.play("accept")
    other = game.best_part(1)
    assert other is not None and game.mover is None
    assert rewards == (1.0, game.worth(1, game.rest(best)) / game.worth(1, other))
    assert game.worth(1, game.rest(best)) >= game.limit(1)


def test_the_best_part_is_the_best_of_all_that_leave_both_at_their_limits() -> None:
    game = started()
    best, worths = game.best_part(1), []
    for part in game.parts():
        mine, theirs = game.worth(1, part), game.worth(0, game.rest(part))
        if mine >= game.limit(1) and theirs >= game.limit(0):
            worths.append(mine)
    assert best is not None and game.worth(1, best) == max(worths)


def test_a_deal_below_a_limit_is_worth_nothing_to_that_seat() -> None:
    game = started()
    game.play(f"propose {game.words(game.counts)}")
    assert game.play("accept") == (1.0, 0.0)
    assert not game.success(1)


def test_values_are_told_to_their_seat_alone() -> None:
    game = started()
    assert "Worth to you" in game.observe(0) and game.observe(0) != game.observe(1)
    game.play("say Hello there.")
    assert game.observe(1).splitlines()[1] == 'player_0 says: "Hello there."'
    assert "Worth to you" not in game.observe(0)


@pytest.mark.parametrize(
    "action", ["", "accept", "reject", "propose", "propose 99 books", "propose 1 x", "say"]
)
def test_an_illegal_move_only_uses_the_move_up(action: str) -> None:
    game = started()
    assert game.illegal_move == "noop"
    assert game.play(action) == (0.0, 0.0)
    assert game.offered(1) is None and game.mover == 1 and game.moves_left(0) == 4
    assert "player_0 makes no legal move." in game.observe(1)


def test_an_offer_stands_until_it_is_answered_or_replaced() -> None:
    game = started()
    proposal = f"propose {game.words(game.counts)}"
    game.play(proposal)
    game.play("say Hm.")
    game.play("say Well?")
    assert game.offered(1) == (0, 0, 0, 0)
    game.play("reject")
    assert game.offered(1) is None and game.offered(0) is None


def test_proposals_are_read_with_and_and_without_plural() -> None:
    game = started()
    one, two, *_ = game.kinds
    game.play(f"propose 1 {one} and 1 {two}s")
    assert game.offered(1) == game.rest((1, 1, 0, 0))


def test_without_a_deal_both_get_nothing() -> None:
    game = started(num_moves=2)
    for _ in range(4):
        assert game.play("say No.") == (0.0, 0.0)
    assert game.mover is None and "There is no deal." in game.observe(0)


def test_tasks_of_different_splits_share_nothing() -> None:
    game = Negotiation()
    told: dict[str, set[str]] = {}
    for split in game.card.splits:
        told[split] = set()
        for index in range(1000):
            game.begin(Task(split, index))
            told[split].add(game.observe(0) + game.observe(1))
    assert len(set.union(*told.values())) == 3000


@pytest.mark.parametrize("seat", [0, 1])
def test_the_oracle_gets_all_and_policies_without_skill_little(seat: int) -> None:
    env: Any = gymnasium.make("molt/Negotiation-v0", seat=seat).unwrapped
    won = wins(env, 100)
    assert won.pop("oracle") == 100
    assert max(won.values()) <= 100 * env.card.max_baseline_success


def test_giving_away_the_kind_worth_least_is_never_the_best_part() -> None:
    game = Negotiation()
    for index in range(300):
        game.begin(Task("test", index))
        for seat in (0, 1):
            best = game.best_part(seat)
            assert best is not None
            given = [pair for pair in zip(game.rest(best), game.counts, strict=True) if pair[0]]
            assert len(given) != 1 or given[0][0] != given[0][1]


def test_the_oracle_is_there_against_the_script_alone() -> None:
    env: Any = gymnasium.make("molt/Negotiation-v0", opponent="random").unwrapped
    env.reset(seed=0)
    assert env.oracle() is None


def test_a_negotiation_needs_an_offer_and_an_answer() -> None:
    with pytest.raises(ValueError, match="num_moves is 1"):
        Negotiation(num_moves=1)
