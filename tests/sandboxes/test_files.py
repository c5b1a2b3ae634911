"""Files of a work folder, as untrusted code may have arranged them."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from sandboxes import WORK_FOLDER, SandboxFileError
from sandboxes.files import read_below, split_path, write_below


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    return folder


@pytest.fixture
def descriptor(work: Path) -> Generator[int]:
    descriptor = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("path", ["a/b.txt", f"{WORK_FOLDER}/a/b.txt", "./a//b.txt"])
def test_a_file_is_written_and_read_by_a_path_in_the_work_folder(descriptor: int, path: str) -> None:
    write_below(descriptor, path, b"text", 0o640, os.getuid())
    assert read_below(descriptor, "a/b.txt", 4) == b"text"


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../secret", "", "/work", "a\0b"])
def test_a_path_that_leads_out_is_refused(path: str) -> None:
    with pytest.raises(SandboxFileError):
        split_path(path)


def test_a_link_is_not_followed(work: Path, descriptor: int) -> None:
    (work / "link").symlink_to("../secret")
    with pytest.raises(SandboxFileError):
        read_below(descriptor, "link", 100)
    with pytest.raises(SandboxFileError):
        write_below(descriptor, "link", b"x", 0o644, os.getuid())
    assert (work.parent / "secret").read_text() == "secret"


def test_a_folder_that_is_a_link_is_not_followed(work: Path, descriptor: int) -> None:
    (work / "out").symlink_to(work.parent)
    with pytest.raises(SandboxFileError):
        read_below(descriptor, "out/secret", 100)
    with pytest.raises(SandboxFileError):
        write_below(descriptor, "out/new", b"x", 0o644, os.getuid())
    assert not (work.parent / "new").exists()


def test_a_named_pipe_neither_blocks_nor_is_read(work: Path, descriptor: int) -> None:
    os.mkfifo(work / "pipe")
    with pytest.raises(SandboxFileError, match="regular"):
        read_below(descriptor, "pipe", 100)
    with pytest.raises(SandboxFileError):
        write_below(descriptor, "pipe", b"x", 0o644, os.getuid())


def test_a_file_over_the_size_asked_for_is_refused(work: Path, descriptor: int) -> None:
    (work / "big").write_bytes(b"12345")
    with pytest.raises(SandboxFileError, match="4 bytes"):
        read_below(descriptor, "big", 4)


def test_writing_replaces_the_content_and_never_sets_the_user_bit(work: Path, descriptor: int) -> None:
    write_below(descriptor, "f", b"long text", 0o644, os.getuid())
    write_below(descriptor, "f", b"short", 0o4755, os.getuid())
    assert (work / "f").read_bytes() == b"short"
    assert (work / "f").stat().st_mode & 0o7777 == 0o755


def test_a_missing_file_is_told_and_no_descriptor_stays_open(descriptor: int) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(SandboxFileError, match="No such file"):
        read_below(descriptor, "nowhere/file", 100)
    assert os.listdir("/proc/self/fd") == before
