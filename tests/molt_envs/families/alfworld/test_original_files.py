"""The original's game files: what is read from them, and what is said about a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from molt_envs.errors import DataError
from molt_envs.families.alfworld.env import HouseholdEnv
from molt_envs.families.alfworld.original import read_game
from molt_envs.families.alfworld.world import Goal
from tests.molt_envs.families.alfworld.small_house import PROBLEM, write_game


def test_a_game_is_read(tmp_path: Path) -> None:
    world = read_game(write_game(tmp_path))
    assert world.task == 'clean some apple and put it in "sinkbasin".'
    assert world.goal == Goal("apple", "sinkbasin", "clean")
    assert [receptacle.name for receptacle in world.receptacles] == ["fridge 1", "sinkbasin 1"]
    assert [thing.name for thing in world.things] == ["apple 2", "apple 1", "bowl 1"]
    assert world.inside == ((0, 2), ())
    assert world.opened == {0}
    assert world.things[0].states == {"cool"}
    assert world.things[2].contents == (1,)


def test_a_game_is_played_to_its_end(tmp_path: Path) -> None:
    env = HouseholdEnv(data_dir=write_game(tmp_path / "valid_unseen" / "trial").parent.parent.parent)
    assert env.card.splits == {"test": 1}
    env.reset(options={"split": "test"})
    policy = env.oracle()
    for _ in range(20):
        _, reward, terminated, _, info = env.step(policy.act("", {}))
        if terminated:
            break
    assert (reward, terminated, info["success"]) == (1.0, True, True)


def test_a_bowl_shows_what_is_in_it(tmp_path: Path) -> None:
    env = HouseholdEnv(data_dir=write_game(tmp_path).parent)
    env.reset()
    env.step("go to fridge 1")
    assert env.step("examine fridge 1")[0] == "The fridge 1 is open. In it, you see a apple 2, and a bowl 1."


def test_splits_follow_the_folders_and_unplayable_games_are_left_out(tmp_path: Path) -> None:
    for number, folder in enumerate(("train/a", "train/b", "valid_seen/a", "valid_unseen/a")):
        write_game(tmp_path / folder / f"trial_{number}")
    write_game(tmp_path / "train" / "c", solvable=False)
    write_game(tmp_path / "train" / "pick_and_place_with_movable_recep-Egg-Bowl" / "trial")
    write_game(tmp_path / "train" / "pick_and_place_simple-AppleSliced" / "trial")
    assert HouseholdEnv(data_dir=tmp_path).card.splits == {"train": 2, "seen": 1, "test": 1}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"pddl_problem": None}, "field pddl_problem"),
        ({"grammar": 3}, "field grammar"),
        ({"grammar": "no task"}, "field grammar"),
        ({"pddl_problem": ""}, "field :init"),
        ({"pddl_problem": "((a))"}, "field :init"),
        ({"pddl_problem": PROBLEM + ")"}, "without its '('"),
        ({"pddl_problem": PROBLEM[:-6]}, "without their ')'"),
        ({"pddl_problem": PROBLEM.replace("(:goal", "(:aim")}, "field :goal"),
        ({"pddl_problem": PROBLEM.replace("(atLocation agent1 loc_bar_9)", "")}, "0 facts atLocation"),
        (
            {"pddl_problem": PROBLEM.replace("(objectType Apple_bar_a AppleType)", "(objectType x)")},
            "objecttype",
        ),
        ({"pddl_problem": PROBLEM.replace("(receptacleType Fridge_bar_a FridgeType)", "")}, "receptacleType"),
        ({"pddl_problem": PROBLEM.replace("(isClean ?o)", "(isClean)")}, "isclean"),
        (
            {"pddl_problem": PROBLEM.replace("(isClean ?o)", "(inReceptacleObject ?o ?r)")},
            "inreceptacleobject",
        ),
        ({"pddl_problem": PROBLEM.replace("(receptacleType ?r SinkBasinType)", "")}, "names 0 types"),
    ],
)
def test_a_wrong_game_is_named(tmp_path: Path, changes: dict[str, object], named: str) -> None:
    file = write_game(tmp_path, **changes)
    with pytest.raises(DataError) as caught:
        read_game(file)
    assert str(file) in str(caught.value)
    assert named in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "\xff", "[" * 100_000])
def test_a_file_that_is_no_record_is_named(tmp_path: Path, text: str) -> None:
    file = write_game(tmp_path)
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"game\.tw-pddl"):
        HouseholdEnv(data_dir=tmp_path)


def test_a_missing_or_wrong_trajectory_is_named(tmp_path: Path) -> None:
    file = write_game(tmp_path)
    trajectory = tmp_path / "traj_data.json"
    trajectory.write_text('{"task_type": "juggle"}')
    with pytest.raises(DataError, match="field task_type: 'juggle'"):
        read_game(file)
    trajectory.unlink()
    with pytest.raises(DataError, match=r"traj_data\.json"):
        read_game(file)


def test_a_folder_without_games_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no playable"):
        HouseholdEnv(data_dir=tmp_path)
