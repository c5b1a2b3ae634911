"""The program that reads the final state: it ends soon and without an error, whatever lies there."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from molt_envs.families.shell.snapshot_program import MAX_FILE_BYTES, MAX_UNPACKED_BYTES, members, snapshot


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def packed(form: int, mode: str, **files: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            entry = tarfile.TarInfo(f"./top/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def seen() -> Any:
    return json.loads(snapshot())


def test_files_and_links_are_told(folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "c.txt").write_text("text\n")
    (folder / "a" / "b" / "c.txt").chmod(0o640)
    (folder / "link").symlink_to("a/../a/b")
    assert seen() == {"a/b/c.txt": ["file", 0o640, "text\n"], "link": ["link", 0, f"{folder}/a/b"]}


def test_a_link_is_not_followed(folder: Path) -> None:
    (folder / "out").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to("loop")
    (folder / "up").symlink_to("..")
    assert {path: entry[0] for path, entry in seen().items()} == {"out": "link", "loop": "link", "up": "link"}


@pytest.mark.timeout(20)
def test_pipes_are_not_opened(folder: Path) -> None:
    os.mkfifo("pipe")
    assert seen()["pipe"][0] == "special"


def test_of_large_files_the_size_is_told(folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    os.truncate(os.open("sparse", os.O_CREAT | os.O_WRONLY), 10**11)
    assert seen() == {
        "large": ["large", (folder / "large").stat().st_mode & 0o777, str(MAX_FILE_BYTES + 1)],
        "sparse": ["large", (folder / "sparse").stat().st_mode & 0o777, str(10**11)],
    }


def test_bytes_that_are_no_text_stay_apart(folder: Path) -> None:
    (folder / "a").write_bytes(b"\xff")
    (folder / "b").write_bytes(b"\xfe")
    Path(os.fsdecode(b"\xff")).write_bytes(b"")
    found = seen()
    assert len(found) == 3 and found["a"] != found["b"]


def test_deep_folders_do_not_stop_it(folder: Path) -> None:
    (folder / "kept").write_text("1")
    for _ in range(1200):
        os.mkdir("d")
        os.chdir("d")
    Path("deepest").write_text("2")
    os.chdir(folder)
    assert seen()["kept"] == ["file", (folder / "kept").stat().st_mode & 0o777, "1"]
    # pytest removes its folders later by a recursive function, which such a depth would stop.
    subprocess.run(["rm", "-rf", "d"], check=True)


def test_too_much_is_nothing(folder: Path) -> None:
    for number in range(20):
        (folder / f"f{number}").write_bytes(b"x" * 60_000)
    assert seen() is None


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_files_of_an_archive_are_told(form: int, mode: str) -> None:
    data = packed(form, mode, a=b"1\n", b=b"", c=b"x" * 1000)
    assert members(data) == {"top/a": "1\n", "top/b": "", "top/c": "x" * 1000}


def test_a_bomb_is_not_unpacked_to_its_end() -> None:
    bomb = gzip.compress(packed(tarfile.USTAR_FORMAT, "w", a=bytes(5 * 10**6)))
    assert len(members(bomb)["top/a"]) < MAX_UNPACKED_BYTES


@pytest.mark.timeout(20)
def test_a_broken_archive_is_a_file(folder: Path) -> None:
    whole = packed(tarfile.GNU_FORMAT, "w", a=b"1\n", b=b"2\n")
    sizes = (b"-0000000512", b"\xff" * 11, b"88888888888")
    broken = [whole[:100], gzip.compress(whole)[:40], b"\x1f\x8bno"]
    broken += [whole.replace(b"00000000002", size) for size in sizes]
    for data in broken:
        assert members(data) == {}
    (folder / "x.tar").write_bytes(broken[1])
    assert seen()["x.tar"][0] == "file"
