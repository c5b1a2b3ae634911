"""Questions, their splits, and why a constant is no answer."""

from __future__ import annotations

from contextlib import closing

import pytest

from molt_envs.families.sql.problems import SPLITS, problem, split_of, templates
from molt_envs.families.sql.query_program import digest, open_script, run


def test_there_are_many_tasks_of_many_templates() -> None:
    assert SPLITS["train"] >= 2000
    assert len(templates("train")) >= 15


def test_test_has_templates_of_its_own() -> None:
    assert not set(templates("train")) & set(templates("test"))
    assert templates("train") == templates("validation")


@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_question_belongs_to_one_split_whatever_its_database(split: str) -> None:
    for index in range(12):
        assert split_of(problem(split, index).question, "train") == split


@pytest.mark.parametrize("split", SPLITS)
def test_each_template_gives_a_problem_that_its_query_answers_on_both_databases(split: str) -> None:
    for index in range(len(templates(split))):
        item = problem(split, index)
        assert item.digests[0] != item.digests[1], item.kind
        for script, expected in zip((item.given, item.hidden), item.digests, strict=True):
            with closing(open_script(script)) as connection:
                assert digest(run(connection, item.query)[1], item.is_ordered) == expected, item.kind


def test_a_task_is_the_same_each_time() -> None:
    assert problem("train", 7) == problem("train", 7)


def test_questions_leave_no_word_open() -> None:
    for split in SPLITS:
        for index in range(len(templates(split))):
            assert not set("{}") & set(problem(split, index).question)
