"""Problems by name: the same in every process, none in two splits, none that a guess solves."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from molt_envs.families.python_tool.problems import LARGEST_GUESS, SPLITS, problem
from molt_envs.families.python_tool.templates import HELD_OUT, TRAINED

NUM_SAMPLES = 180  # ten of each template


def instance(split: str, index: int) -> tuple[str, tuple[str, ...]]:
    one = problem(split, index)
    return one.call, tuple(one.tables.values())


def test_splits_have_their_templates() -> None:
    for split, templates in (("train", TRAINED), ("validation", TRAINED), ("test", HELD_OUT)):
        kinds = {problem(split, index).kind for index in range(len(templates))}
        assert kinds == {template.__name__ for template in templates}
    assert not {one.__name__ for one in TRAINED} & {one.__name__ for one in HELD_OUT}


@pytest.mark.parametrize("num", [NUM_SAMPLES, pytest.param(max(SPLITS.values()), marks=pytest.mark.real)])
def test_no_problem_is_in_two_splits_and_few_occur_twice(num: int) -> None:
    sizes = {split: min(num, size) for split, size in SPLITS.items()}
    found = {split: {instance(split, index) for index in range(size)} for split, size in sizes.items()}
    assert not found["train"] & found["validation"]
    assert not found["test"] & (found["train"] | found["validation"])
    assert all(len(found[split]) > 0.99 * size for split, size in sizes.items())


def test_no_answer_is_a_likely_guess() -> None:
    for split in SPLITS:
        answers = Counter(problem(split, index).answer for index in range(NUM_SAMPLES))
        assert min(map(abs, answers)) > LARGEST_GUESS
        assert answers.most_common(1)[0][1] < 0.05 * NUM_SAMPLES


def test_the_question_names_all_that_the_solution_needs() -> None:
    for index in range(36):
        one = problem("train", index)
        numbers = one.call[len(one.kind) :] if not one.tables else ""
        for number in "".join(char if char.isdigit() else " " for char in numbers).split():
            assert number in one.question or one.kind == "weekday_hits", one
        assert all(name in one.question for name in one.tables)


def test_the_program_alone_gives_the_answer(tmp_path: Path) -> None:
    for split, num in (("train", len(TRAINED)), ("test", len(HELD_OUT))):
        for index in range(num):
            one = problem(split, index)
            for name, text in one.tables.items():
                (tmp_path / name).write_text(text, encoding="utf-8")
            command = [sys.executable, "-I", "-c", f"{one.program}\nprint({one.call})"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert done.stdout == f"{one.answer}\n", done.stderr


def test_a_problem_is_the_same_in_another_process() -> None:
    code = "from molt_envs.families.python_tool.problems import problem; print(problem('train', 16).question)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONHASHSEED": "5"},
        cwd=Path(__file__).parents[4],
    )
    assert done.stdout == f"{problem('train', 16).question}\n", done.stderr


def test_a_whole_number_is_exact_and_another_has_a_tolerance() -> None:
    whole, broken = problem("train", 4), problem("train", 9)
    assert isinstance(whole.answer, int) and isinstance(broken.answer, float)
    assert whole.accepts(whole.answer) and whole.accepts(float(whole.answer))
    assert not whole.accepts(whole.answer + 1) and not whole.accepts(whole.answer * 1.00001)
    assert broken.accepts(broken.answer * 1.00009) and not broken.accepts(broken.answer * 1.00011)
    assert not broken.accepts(-broken.answer) and not broken.accepts(0)
