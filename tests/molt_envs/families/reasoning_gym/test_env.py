"""Questions of reasoning-gym: scored by it, solved by its own answers, never run as code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import pytest

import molt_envs  # noqa: F401 - registers the ids

pytest.importorskip("reasoning_gym", reason="needs the extra reasoning-gym")
ENV_ID = "molt/ReasoningGym-v0"


def make(**options: Any) -> Any:
    return gymnasium.make(ENV_ID, **options).unwrapped


def test_the_answer_of_the_library_is_right_and_another_one_wrong() -> None:
    env = make()
    for seed in range(5):
        env.reset(seed=seed)
        _, reward, terminated, _, info = env.step(env.oracle().act("", {}))
        assert (reward, terminated, info["success"]) == (1.0, True, True)
        env.reset(seed=seed)
        assert env.step("-1")[1] == 0.0


def test_the_answer_is_found_between_its_tags() -> None:
    extract = make().card.grammar.extract
    assert extract("<answer>1</answer> no, <answer>2\n3</answer>.") == "2\n3"
    assert extract("<answer> <answer>7</answer>") == "7"
    assert extract(" 42 ") == "42"


def test_splits_show_different_items() -> None:
    env = make()
    shown = [env.reset(options={"task_id": f"{split}:0"})[0] for split in ("train", "validation", "test")]
    assert len(set(shown)) == 3
    other = make(seed=1)
    assert other.reset(options={"task_id": "train:0"})[0] != shown[0]


def test_the_library_may_give_a_part_of_the_score() -> None:
    env = make(dataset="countdown")
    env.reset(seed=0)
    _, reward, _, _, info = env.step("1 + 1")
    assert 0 < reward < 1 and not info["success"]


@pytest.mark.parametrize(("dataset", "answer"), [("game_of_life", "{}"), ("prime_factorization", "hello")])
def test_an_answer_on_which_a_scorer_fails_is_wrong(dataset: str, answer: str) -> None:
    env = make(dataset=dataset)
    env.reset(seed=0)
    assert env.step(answer)[1] == 0.0


@pytest.mark.parametrize("dataset", ["puzzle24", "n_queens"])
def test_an_answer_is_not_run_as_code(dataset: str, tmp_path: Path) -> None:
    env = make(dataset=dataset)
    env.reset(seed=0)
    planted = tmp_path / "planted"
    assert env.step(f'open("{planted}", "w")')[1] == 0.0
    assert not planted.exists()


def test_a_data_set_without_answers_has_no_oracle() -> None:
    env = make(dataset="rush_hour")
    env.reset(seed=0)
    assert env.oracle() is None


def test_a_data_set_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"dataset is 'leg_couting'; reasoning-gym has .*leg_counting"):
        make(dataset="leg_couting")


def test_settings_that_the_library_refuses_are_an_error() -> None:
    with pytest.raises(ValueError, match="refuses composite"):
        make(dataset="composite")
    with pytest.raises(ValueError, match="refuses leg_counting"):
        make(options={"num_legs": 3})


@pytest.mark.real
def test_every_data_set_is_made_and_solved_where_it_ships_answers() -> None:
    from reasoning_gym.factory import DATASETS

    unsolved = set()
    for dataset in sorted(set(DATASETS) - {"composite"}):
        env = make(dataset=dataset)
        for index in (0, 999):
            env.reset(options={"task_id": f"test:{index}"})
            oracle = env.oracle()
            if oracle is None:
                unsolved.add(dataset)
            else:
                assert env.step(oracle.act("", {}))[1] == 1.0
    assert unsolved == {"boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"}
