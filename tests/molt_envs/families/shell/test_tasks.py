"""Tasks by name: the same in every process, with names of their split, and never done at the start."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from molt_envs.families.shell.draft import texts
from molt_envs.families.shell.state import changes, text_file
from molt_envs.families.shell.tasks import SPLITS, shell_task
from molt_envs.families.shell.templates import HELD_OUT, TRAINED

NUM_SAMPLES = 150  # ten of each template


def test_splits_have_their_templates() -> None:
    for split, templates in (("train", TRAINED), ("validation", TRAINED), ("test", HELD_OUT)):
        kinds = {shell_task(split, index).kind for index in range(len(templates))}
        assert kinds == {template.__name__ for template in templates}
    assert not {one.__name__ for one in TRAINED} & {one.__name__ for one in HELD_OUT}


def test_splits_share_no_folder_name_word_or_person() -> None:
    words = texts("words.json")
    for kind in words["train"]:
        every = [word for split in SPLITS for word in words[split][kind]]
        assert len(every) == len(set(every)), kind


def test_no_task_occurs_twice() -> None:
    for split in SPLITS:
        seen = Counter(
            (task.instruction, tuple(task.start.items()))
            for task in (shell_task(split, index) for index in range(SPLITS[split]))
        )
        assert max(seen.values()) == 1


def test_every_task_wants_a_change_and_starts_with_plain_files() -> None:
    for split in SPLITS:
        for index in range(NUM_SAMPLES):
            task = shell_task(split, index)
            assert changes(task.start, task.goal), task
            assert all(entry.kind == "file" for entry in task.start.values())


def test_the_instruction_names_where_results_go() -> None:
    for split in SPLITS:
        for index in range(NUM_SAMPLES):
            task = shell_task(split, index)
            new = {path for path, entry in changes(task.start, task.goal) if path not in task.start and entry}
            if len(new) == 1 and task.kind not in {"rename", "move_large", "sort_by_extension"}:
                assert new.pop() in task.instruction, task


def test_instructions_have_no_gaps() -> None:
    for template in (*TRAINED, *HELD_OUT):
        assert len(texts("phrasings.json")[template.__name__]) >= 2
    for index in range(NUM_SAMPLES):
        assert not re.search(r"[{}]|None", shell_task("train", index).instruction)


def test_a_task_is_the_same_in_another_process() -> None:
    code = "from molt_envs.families.shell.tasks import shell_task; print(shell_task('test', 3))"
    checkout = Path(__file__).parents[4]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=checkout,
        env={"PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == f"{shell_task('test', 3)}\n", done.stderr


def test_changes_name_what_is_gone_new_or_different() -> None:
    start = {"a": text_file("1\n"), "b": text_file("2\n"), "c": text_file("3\n", 0o600)}
    end = {"b": text_file("2"), "c": text_file("3\n", 0o644), "d": text_file("4 \n", 0o755)}
    found = {path: entry for path, entry in changes(start, end)}
    assert found == {"a": None, "b": end["b"], "c": end["c"], "d": text_file("4", 0)}


def test_permissions_and_white_space_of_new_files_do_not_matter() -> None:
    end, goal = {"a": text_file("1\n", 0o600)}, {"a": text_file("1")}
    assert changes({}, end) == changes({}, goal) != changes({}, {"a": text_file("2")})
