"""Boards: the moves, the budget, and that later pictures are needed."""

from __future__ import annotations

import pytest

from molt_envs import describe, images_of
from molt_envs.families.grid_nav.boards import MOVES, SPLITS, Board, Setting, board
from molt_envs.families.grid_nav.env import GridNavEnv
from molt_envs.policy import Policy

SETTING = Setting()
NUM_SAMPLES = 80
SMALL = Board(3, frozenset({(0, 1)}), (0, 0), ((0, 2), (2, 0)), 0)
"""A disc in one corner, a wall beside it, a star behind the wall, then one in the corner below."""


def play(env: GridNavEnv, who: str, index: int, split: str = "train") -> tuple[float, bool, int]:
    observation, info = env.reset(seed=index, options={"task_id": f"{split}:{index}"})
    policy: Policy = env.oracle(index) if who == "oracle" else env.baselines(index)[who]
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        total, over = total + reward, terminated or truncated
    return total, info["success"], info["turn"]


def test_walls_and_edges_stop_a_move() -> None:
    assert SMALL.moved((0, 0), "right") == (0, 0)
    assert SMALL.moved((0, 0), "up") == (0, 0)
    assert SMALL.moved((0, 0), "down") == (1, 0)


def test_a_way_goes_round_the_wall() -> None:
    assert SMALL.way((0, 0), (0, 2)) == ["down", "right", "right", "up"]
    assert SMALL.num_needed() == 8
    walled = Board(3, frozenset({(0, 1), (1, 0)}), (0, 0), ((2, 2),), 0)
    assert walled.way((0, 0), (2, 2)) is None and walled.num_needed() is None


@pytest.mark.parametrize("split", SPLITS)
def test_the_oracle_takes_all_stars_in_the_fewest_moves(split: str) -> None:
    env = GridNavEnv()
    for index in range(NUM_SAMPLES):
        total, success, turns = play(env, "oracle", index, split)
        assert success and total == pytest.approx(1) and turns == board(SETTING, split, index).num_needed()


def test_the_moves_end_with_the_budget() -> None:
    env = GridNavEnv(spare_moves=2)
    assert play(env, "nothing", 3) == (0.0, False, (board(SETTING, "train", 3).num_needed() or 0) + 2)


@pytest.mark.parametrize("who", ["nothing", "random", "script", "blind"])
def test_without_pictures_next_to_nothing_is_solved(who: str) -> None:
    env = GridNavEnv()
    plays = [play(env, who, index) for index in range(NUM_SAMPLES)]
    assert sum(success for _, success, _ in plays) <= 0.05 * NUM_SAMPLES
    assert sum(total for total, _, _ in plays) <= 0.2 * NUM_SAMPLES


def test_the_first_picture_alone_is_worth_a_star_and_no_success() -> None:
    env = GridNavEnv()
    plays = [play(env, "first_picture", index) for index in range(NUM_SAMPLES)]
    assert sum(success for _, success, _ in plays) <= 0.1 * NUM_SAMPLES
    assert sum(total for total, _, _ in plays) <= 0.5 * NUM_SAMPLES


def test_a_picture_shows_where_the_disc_is_and_never_the_star_after_next() -> None:
    one = Board(4, frozenset(), (0, 0), ((3, 3), (0, 3)), 5)
    other = Board(4, frozenset(), (0, 0), ((3, 3), (2, 1)), 5)
    assert (one.picture((0, 0), (3, 3), 112) == other.picture((0, 0), (3, 3), 112)).all()
    assert (one.picture((0, 0), (3, 3), 112) != one.picture((0, 1), (3, 3), 112)).any()
    assert (one.picture((0, 0), (3, 3), 112) != one.picture((0, 0), (3, 2), 112)).any()


def test_every_turn_shows_a_picture_and_its_text_tells_no_place() -> None:
    env = GridNavEnv()
    first, _ = env.reset(seed=0)
    seen = {describe(first).rpartition("\n")[2]}
    for _ in range(4):
        for move in MOVES:
            observation, _, over, _, _ = env.step(move)
            assert len(images_of(observation)) == 1
            assert observation["text"].startswith("Stars: ")
            seen.add(describe(observation).rpartition("\n")[2])
            if over:
                env.reset(seed=1)
    assert len(seen) > 3


def test_a_word_that_is_no_move_costs_a_move() -> None:
    env = GridNavEnv()
    first, _ = env.reset(seed=0)
    second, reward, *_ = env.step("north")
    assert reward == 0 and (first["image"] == second["image"]).all()
    before, after = (int(one["text"].rstrip(".").rpartition(" ")[2]) for one in (first, second))
    assert after == before - 1


def test_splits_share_no_board() -> None:
    found = {
        split: {(one.walls, one.start, one.stars) for one in (board(SETTING, split, i) for i in range(500))}
        for split in SPLITS
    }
    assert not found["train"] & found["test"] and not found["validation"] & found["test"]
    assert not found["train"] & found["validation"]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"board_size": 20}, "20 cells do not show in 112 pixels"),
        ({"board_size": 2}, "at least 3"),
        ({"num_stars": 0}, "at least 3, 1 and 0"),
        ({"num_walls": 9}, "at most a third"),
    ],
)
def test_what_cannot_be_walked_is_refused(kwargs: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GridNavEnv(**kwargs)  # type: ignore[arg-type]
