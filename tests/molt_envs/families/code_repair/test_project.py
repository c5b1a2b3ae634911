"""The tools that read and change the files of a project."""

from __future__ import annotations

import pytest

from molt_envs.families.code_repair.project import MAX_FILE_CHARS, MAX_FILES, Project
from molt_envs.tools.calls import ToolError


def small() -> Project:
    project = Project()
    project.begin({"kit/a.py": "x = 1\ny = 1\n", "README.md": ""})
    return project


def test_a_file_is_listed_read_and_edited() -> None:
    project = small()
    assert project.list_files() == "README.md (0 lines)\nkit/a.py (2 lines)"
    project.edit_file("kit/a.py", "x = 1", "x = 2")
    assert project.read_file("kit/a.py") == "x = 2\ny = 1\n"


@pytest.mark.parametrize("old", ["", "= 1", "z"])
def test_an_edit_needs_a_text_that_occurs_once(old: str) -> None:
    with pytest.raises(ToolError, match="not once"):
        small().edit_file("kit/a.py", old, "?")


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../a.py", "kit/../a.py", "kit//b.py", ".pth", "kit", "kit/a.py/b", "a b", "é.py"],
)
def test_a_path_stays_inside(path: str) -> None:
    with pytest.raises(ToolError):
        small().write_file(path, "")


def test_a_project_has_bounds() -> None:
    project = small()
    with pytest.raises(ToolError, match="characters"):
        project.write_file("b.py", "x" * (MAX_FILE_CHARS + 1))
    with pytest.raises(ToolError, match="no more"):
        for number in range(MAX_FILES):
            project.write_file(f"kit/f{number}.py", "")


def test_a_project_begins_anew() -> None:
    project, files = small(), {"b.py": "1"}
    project.begin(files)
    project.write_file("b.py", "2")
    assert files == {"b.py": "1"}
    with pytest.raises(ToolError, match="no file"):
        project.read_file("kit/a.py")
