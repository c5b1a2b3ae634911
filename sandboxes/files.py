"""Files of a work folder, reached from outside: in, a descriptor of the folder and a path; out, bytes.

What is in the folder was arranged by untrusted code. Each part of a path is opened by itself below the last
one, without following links, and only a regular file is read or written: nothing leads out or blocks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import PurePosixPath

from sandboxes.base import WORK_FOLDER, SandboxFileError

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def split_path(path: str) -> tuple[str, ...]:
    """Its parts below the work folder; SandboxFileError when it leads elsewhere or names no file."""
    first, *parts = PurePosixPath(WORK_FOLDER, path).relative_to("/").parts
    if f"/{first}" != WORK_FOLDER or not parts or ".." in parts or "\0" in path:
        raise SandboxFileError(f"{path!r} is not a file below {WORK_FOLDER}; give a path in it, without '..'")
    return tuple(parts)


def read_below(folder: int, path: str, max_bytes: int) -> bytes:
    """A regular file's content; SandboxFileError when it is missing, a link, not a file, or larger."""
    with _open_below(folder, path, os.O_RDONLY, None) as descriptor:
        data = b""
        while len(data) <= max_bytes and (chunk := os.read(descriptor, max_bytes + 1 - len(data))):
            data += chunk
    if len(data) > max_bytes:
        raise SandboxFileError(f"{path!r} is larger than the {max_bytes} bytes asked for; raise max_bytes")
    return data


def write_below(folder: int, path: str, data: bytes, mode: int, owner: int) -> None:
    """Write a regular file and its folders as `owner`; SandboxFileError when its quota is used up."""
    with _open_below(folder, path, os.O_WRONLY | os.O_CREAT, owner) as descriptor:
        os.ftruncate(descriptor, 0)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if os.getuid() == 0:
            os.fchown(descriptor, owner, owner)
        os.fchmod(descriptor, mode & 0o777)


@contextmanager
def _open_below(folder: int, path: str, flags: int, owner: int | None) -> Generator[int]:
    """A descriptor of the file; with an `owner`, missing folders are made."""
    *folders, name = split_path(path)
    opened = [os.dup(folder)]
    try:
        for part in folders:
            if owner is not None:
                _make_folder(opened[-1], part, owner)
            opened.append(os.open(part, _FOLDER_FLAGS, dir_fd=opened[-1]))
        opened.append(os.open(name, flags | _FILE_FLAGS, 0o600, dir_fd=opened[-1]))
        if not stat.S_ISREG(os.fstat(opened[-1]).st_mode):
            raise SandboxFileError(f"{path!r} is not a regular file")
        yield opened[-1]
    except (OSError, UnicodeEncodeError) as error:
        raise SandboxFileError(f"{path!r} in the work folder: {error}") from error
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _make_folder(at: int, name: str, owner: int) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=at)
    except FileExistsError:
        return
    if os.getuid() == 0:
        os.chown(name, owner, owner, dir_fd=at, follow_symlinks=False)
