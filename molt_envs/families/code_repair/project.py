"""An agent's copy of a project: paths and text in, files out; the tools that read and change them.

The files live outside of any sandbox. Nothing here runs them.
"""

import re
from collections.abc import Mapping

from molt_envs.tools.calls import ToolError
from molt_envs.tools.schema import brief

MAX_FILES = 40
MAX_FILE_CHARS = 40_000
PATH = re.compile(r"(?:[A-Za-z0-9_-][\w.-]{0,60}/){0,3}[A-Za-z0-9_-][\w.-]{0,60}", re.ASCII)


class Project:
    """Files by path."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def begin(self, files: Mapping[str, str]) -> None:
        """Start with these files."""
        self.files = dict(files)

    def list_files(self) -> str:
        """List the files of the project with their numbers of lines."""
        return "\n".join(
            f"{path} ({len(self.files[path].splitlines())} lines)" for path in sorted(self.files)
        )

    def read_file(self, path: str) -> str:
        """Read a file.

        Args:
            path: as list_files shows it.
        """
        return self._text(path) or "(the file is empty)"

    def edit_file(self, path: str, old: str, new: str) -> str:
        """Replace a piece of text that occurs exactly once in a file.

        Args:
            path: as list_files shows it.
            old: the text to replace, with its blanks and line ends.
            new: what to put there.
        """
        text = self._text(path)
        count = text.count(old) if old else 0
        if count != 1:
            mend = "give more of the lines around it" if count else "copy it from read_file, with its blanks"
            raise ToolError(f"old occurs {count} times in {path}, not once; {mend}")
        self._put(path, text.replace(old, new))
        return f"{path} changed"

    def write_file(self, path: str, text: str) -> str:
        """Write a whole file, new or not.

        Args:
            path: of the file, relative to the project.
            text: all of it.
        """
        if not PATH.fullmatch(path):
            raise ToolError(
                f"{brief(path)} is no path here; use letters, digits, . _ - and / such as pkg/a.py"
            )
        folders = {other for known in self.files for other in _parents(known)}
        if path in folders or any(parent in self.files for parent in _parents(path)):
            raise ToolError(f"{path} cannot be both a file and a folder")
        if path not in self.files and len(self.files) >= MAX_FILES:
            raise ToolError(f"the project has {MAX_FILES} files; no more can be added")
        self._put(path, text)
        return f"{path} written"

    def _text(self, path: str) -> str:
        if path not in self.files:
            raise ToolError(f"there is no file {brief(path)}; list_files shows what there is")
        return self.files[path]

    def _put(self, path: str, text: str) -> None:
        if len(text) > MAX_FILE_CHARS:
            raise ToolError(f"{path} would have {len(text)} characters; at most {MAX_FILE_CHARS} are kept")
        self.files[path] = text


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]
