"""What the household says to each command, and what it then lists."""

from __future__ import annotations

from dataclasses import replace

import pytest

from molt_envs.families.alfworld.game import Game
from molt_envs.families.alfworld.world import Goal
from tests.molt_envs.families.alfworld.small_house import small_world


def played(*commands: str, goal: Goal | None = None, put: bool = False) -> tuple[Game, str]:
    game = Game(small_world(goal), put)
    said = ""
    for command in commands:
        said = game.act(command)
    return game, said


def test_the_intro_lists_the_room_and_sets_the_task() -> None:
    assert Game(small_world()).intro() == (
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, "
        "you see a desk 1, a fridge 1, a microwave 1, and a sinkbasin 1.\n\n"
        "Your task is to: put a apple in sinkbasin."
    )


TAKE = ("go to desk 1", "take apple 2 from desk 1")


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        (["look"], "You are in the middle of a room. Looking quickly around you, you see nothing."),
        (
            ["go to desk 1"],
            "You arrive at desk 1. On the desk 1, you see a apple 2, a desklamp 1, a knife 1, and a mug 1.",
        ),
        (["go to fridge 1"], "You arrive at fridge 1. The fridge 1 is closed."),
        (
            ["go to fridge 1", "open fridge 1"],
            "You open the fridge 1. The fridge 1 is open. In it, you see a apple 1.",
        ),
        (["go to fridge 1", "open fridge 1", "close fridge 1"], "You close the fridge 1."),
        (["go to sinkbasin 1", "examine sinkbasin 1"], "On the sinkbasin 1, you see nothing."),
        (["go to desk 1", "look"], "You are facing the desk 1. Next to it, you see nothing."),
        (["inventory"], "You are not carrying anything."),
        (TAKE, "You pick up the apple 2 from the desk 1."),
        ([*TAKE, "inventory"], "You are carrying: a apple 2."),
        ([*TAKE, "examine apple 2"], "There's nothing special about apple 2."),
        (
            [*TAKE, "go to microwave 1", "heat apple 2 with microwave 1"],
            "You heat the apple 2 using the microwave 1.",
        ),
        (
            [*TAKE, "go to fridge 1", "cool apple 2 with fridge 1", "examine apple 2"],
            "This is a cold apple 2.",
        ),
        (
            [
                *TAKE,
                "go to microwave 1",
                "heat apple 2 with microwave 1",
                "go to sinkbasin 1",
                "clean apple 2 with sinkbasin 1",
                "examine apple 2",
            ],
            "This is a hot and clean apple 2.",
        ),
        (
            [*TAKE, "go to sinkbasin 1", "move apple 2 to sinkbasin 1"],
            "You move the apple 2 to the sinkbasin 1.",
        ),
        (["go to desk 1", "use desklamp 1"], "You turn on the desklamp 1."),
        (["go to desk 1", "use desklamp 1", "use desklamp 1"], "You turn on the desklamp 1."),
        (
            ["go to desk 1", "take knife 1 from desk 1", "slice apple 2 with knife 1"],
            "You sliced the apple 2 with the knife 1.",
        ),
        (
            ["go to desk 1", "take mug 1 from desk 1", "examine mug 1"],
            "This is a normal mug 1. In it, you see nothing.",
        ),
        (["  look  "], "You are in the middle of a room. Looking quickly around you, you see nothing."),
    ],
)
def test_what_it_says(commands: list[str], said: str) -> None:
    assert played(*commands)[1] == said


@pytest.mark.parametrize(
    "commands",
    [
        ["open fridge 1"],  # not there
        ["go to desk 1", "go to desk 1"],  # there already
        ["go to desk 1", "examine apple 2"],  # not in the hand
        ["go to fridge 1", "take apple 1 from fridge 1"],  # closed
        ["go to desk 1", "take desklamp 1 from desk 1"],  # fixed
        [*TAKE, "take mug 1 from desk 1"],  # the hand is full
        [*TAKE, "go to microwave 1", "move apple 2 to microwave 1"],  # closed
        [*TAKE, "go to sinkbasin 1", "put apple 2 in/on sinkbasin 1"],  # the other form
        ["go to desk 1", "take knife 1 from desk 1", "go to fridge 1", "heat knife 1 with fridge 1"],
        [
            "go to desk 1",
            "take knife 1 from desk 1",
            "go to fridge 1",
            "open fridge 1",
            "move knife 1 to fridge 1",
        ],
        ["go to desk 1", "take knife 1 from desk 1", "go to sinkbasin 1", "slice apple 2 with knife 1"],
        ["GO TO DESK 1"],
        [""],
        ["take"],
        ["go to desk 1\0"],
    ],
)
def test_what_cannot_be_done_changes_nothing(commands: list[str]) -> None:
    before, _ = played(*commands[:-1])
    game, said = played(*commands)
    assert (said, game.state_key) == ("Nothing happens.", before.state_key)


def test_the_admissible_commands_are_all_that_do_something() -> None:
    game, _ = played("go to desk 1")
    assert game.admissible == (
        "examine desk 1",
        "go to fridge 1",
        "go to microwave 1",
        "go to sinkbasin 1",
        "help",
        "inventory",
        "look",
        "take apple 2 from desk 1",
        "take knife 1 from desk 1",
        "take mug 1 from desk 1",
        "use desklamp 1",
    )


def test_the_older_form_is_listed_and_answered_on_request() -> None:
    game, _ = played(*TAKE, "go to sinkbasin 1", put=True)
    assert "put apple 2 in/on sinkbasin 1" in game.admissible
    assert game.act("move apple 2 to sinkbasin 1") == "You put the apple 2 in/on the sinkbasin 1."


def test_cold_ends_heat() -> None:
    _, said = played(
        *TAKE,
        "go to microwave 1",
        "heat apple 2 with microwave 1",
        "go to fridge 1",
        "cool apple 2 with fridge 1",
        "examine apple 2",
    )
    assert said == "This is a cold apple 2."


PLACE = ("go to sinkbasin 1", "move apple 2 to sinkbasin 1")
SECOND = ("go to fridge 1", "open fridge 1", "take apple 1 from fridge 1")


@pytest.mark.parametrize(
    ("goal", "commands"),
    [
        (Goal("apple", "sinkbasin"), [*TAKE, *PLACE]),
        (Goal("apple", "sinkbasin", "clean"), [*TAKE, PLACE[0], "clean apple 2 with sinkbasin 1", PLACE[1]]),
        (
            Goal("apple", "sinkbasin", "hot"),
            [*TAKE, "go to microwave 1", "heat apple 2 with microwave 1", *PLACE],
        ),
        (Goal("apple", "sinkbasin", "cool"), [*TAKE, "go to fridge 1", "cool apple 2 with fridge 1", *PLACE]),
        (
            Goal("apple", "sinkbasin", num_things=2),
            [*TAKE, *PLACE, *SECOND, PLACE[0], "move apple 1 to sinkbasin 1"],
        ),
        (Goal("apple", lamp="desklamp"), [*TAKE, "use desklamp 1"]),
        (Goal("mug", lamp="desklamp"), ["go to desk 1", "use desklamp 1", "take mug 1 from desk 1"]),
    ],
)
def test_a_goal_is_met_by_the_last_step_and_not_before(goal: Goal, commands: list[str]) -> None:
    game = Game(small_world(goal))
    met = []
    for command in commands:
        assert game.act(command) != "Nothing happens.", command
        met.append(game.won)
    assert met == [False] * (len(commands) - 1) + [True]


def test_the_wrong_thing_under_the_lamp_is_not_enough() -> None:
    game, _ = played(*TAKE, "use desklamp 1", goal=Goal("mug", lamp="desklamp"))
    assert not game.won


def test_a_lit_lamp_elsewhere_is_not_enough() -> None:
    goal = Goal("apple", lamp="desklamp")
    game, _ = played("go to desk 1", "use desklamp 1", *SECOND, goal=goal)
    assert not game.won
    game.act("go to desk 1")
    assert game.won


def test_receptacles_of_one_place_are_faced_together() -> None:
    world = small_world()
    shared = tuple(replace(receptacle, place=min(receptacle.place, 2)) for receptacle in world.receptacles)
    game = Game(replace(world, receptacles=shared))
    game.act("go to sinkbasin 1")
    assert game.act("look") == "You are facing the microwave 1, and sinkbasin 1. Next to it, you see nothing."
    assert "go to microwave 1" not in game.admissible
    assert {"examine microwave 1", "open microwave 1", "examine sinkbasin 1"} <= set(game.admissible)


def test_what_is_moved_within_a_place_lies_beside_too() -> None:
    world = small_world()
    shared = tuple(replace(receptacle, place=min(receptacle.place, 2)) for receptacle in world.receptacles)
    game = Game(replace(world, receptacles=shared))
    for command in (*TAKE, "go to sinkbasin 1", "open microwave 1", "move apple 2 to microwave 1"):
        game.act(command)
    seen = []
    for command in ("take apple 2 from microwave 1", "move apple 2 to microwave 1") * 2:
        game.act(command)
        seen.append(game.act("look").partition("you see ")[2])
    game.act("take apple 2 from microwave 1")
    game.act("move apple 2 to sinkbasin 1")
    seen.append(game.act("look").partition("you see ")[2])
    assert seen == ["nothing."] * 4 + ["a apple 2."]


def test_a_state_that_comes_again_has_the_same_key() -> None:
    before, _ = played("go to desk 1")
    back = ("take apple 2 from sinkbasin 1", "go to desk 1", "move apple 2 to desk 1")
    after, _ = played(*TAKE, *PLACE, *back, goal=Goal("mug", "sinkbasin"))
    assert after.state_key == before.state_key


def test_games_of_one_world_share_nothing_that_changes() -> None:
    world = small_world()
    first, second = Game(world), Game(world)
    before = second.state_key
    for command in (*TAKE, *PLACE):
        first.act(command)
    assert second.state_key == before == Game(world).state_key
