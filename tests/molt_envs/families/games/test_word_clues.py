"""The rules of word clues, from both seats, and the boards that are drawn."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import molt_envs  # noqa: F401 - registers the ids
from molt_envs import Task
from molt_envs.families.games.associations import associations, draw_board, groups
from molt_envs.families.games.word_clues import GIVER, GUESSER, WordClues
from tests.molt_envs.families.games.seats import wins


def started() -> WordClues:
    game = WordClues()
    game.begin(Task("train", 0))
    return game


def other_word(game: WordClues) -> str:
    return next(word for word in game.hidden if word not in game.board.targets)


def test_each_target_is_worth_a_sixth_to_both() -> None:
    game = started()
    game.play("clue zzz 2")
    assert game.play(f"guess {game.targets_left[0]}") == (1 / 6, 1 / 6)
    assert game.mover == GUESSER
    assert game.play(f"GUESS {game.targets_left[0].upper()}") == (1 / 6, 1 / 6)
    assert game.mover == GIVER and game.score(0) == game.score(1) == 1 / 3


def test_all_targets_end_the_game() -> None:
    game = started()
    game.play("clue zzz 6")
    for word in game.targets_left:
        game.play(f"guess {word}")
    assert game.mover is None and game.success(GIVER) and game.success(GUESSER)


def test_a_wrong_guess_ends_the_round_and_the_second_one_the_game() -> None:
    game = started()
    for mover in (GIVER, None):
        game.play("clue zzz 3")
        assert game.play(f"guess {other_word(game)}") == (0.0, 0.0)
        assert game.mover == mover


@pytest.mark.parametrize(
    "clue",
    ["", "clue", "clue zzz", "clue zzz 0", "clue zzz 7", "clue zzz x", "clue z-z 2", "clue two words 2"],
)
def test_an_illegal_clue_only_loses_the_round(clue: str) -> None:
    game = started()
    assert game.illegal_move == "noop"
    assert game.play(clue) == (0.0, 0.0)
    assert game.mover == GIVER and game.rounds_left == 1 and len(game.hidden) == 16


def test_a_clue_may_not_be_in_a_word_of_the_board_nor_around_one() -> None:
    game = started()
    word = game.hidden[0]
    assert not game.legal(word) and not game.legal(word[:-1]) and not game.legal(word + "ing")
    assert game.legal("zzz")


@pytest.mark.parametrize("guess", ["", "guess", "guess zzz", "guess two words"])
def test_an_illegal_guess_only_uses_the_guess_up(guess: str) -> None:
    game = started()
    game.play("clue zzz 2")
    assert game.play(guess) == (0.0, 0.0)
    assert game.mover == GUESSER and game.guesses_left == 1 and len(game.hidden) == 16


def test_the_targets_are_told_to_the_giver_alone() -> None:
    game = started()
    assert "Targets" in game.observe(GIVER)
    game.play("clue zzz 2")
    assert "arget" not in game.observe(GUESSER)
    assert all(word in game.observe(GUESSER) for word in game.board.words)


def test_no_group_is_in_two_splits() -> None:
    every = [group for split in groups().values() for group in split]
    assert len(every) == len(set(every)) == 60 * 56


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_board_has_two_groups_of_its_split_and_clues_that_mean_nothing_else(split: str) -> None:
    own = set(groups()[split])
    for index in range(50):
        board = draw_board(Task(split, index))
        assert len(set(board.words)) == 16 and len(board.targets) == 6
        found = [
            (clue, tuple(sorted(words & board.targets)))
            for clue, words in associations().items()
            if board.allows(clue) and words.intersection(board.words) <= board.targets
        ]
        assert len(own.intersection(found)) >= 2


def test_the_table_has_no_clue_inside_of_its_own_words() -> None:
    for clue, words in associations().items():
        assert len(words) == 8
        assert not any(clue in word or word in clue for word in words), clue


@pytest.mark.parametrize("seat", [GIVER, GUESSER])
def test_the_oracle_finds_all_and_policies_without_skill_hardly_ever(seat: int) -> None:
    env: Any = gymnasium.make("molt/WordClues-v0", seat=seat).unwrapped
    won = wins(env, 40)
    assert won.pop("oracle") == 40
    assert max(won.values()) <= 1


def test_the_two_seats_are_told_different_things() -> None:
    cards = [gymnasium.make("molt/WordClues-v0", seat=seat).unwrapped.card for seat in (GIVER, GUESSER)]
    assert "clue" in cards[0].grammar.example and "guess" in cards[1].grammar.example
    assert cards[0].system_prompt != cards[1].system_prompt
