"""Files read element by element are what they are when read whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from molt_envs.errors import DataError
from molt_envs.tools import json_stream
from molt_envs.tools.json_stream import stream_json

VALUES: list[Any] = [
    {"a": [1, 2.5e3, None, True], "b": 'ü 灯 😀 \\ " ] } ,'},
    *([], {}, "text", 12345, -1.5, 2e30, None, "\ud800", "x" * 5000),
]


def write(folder: Path, text: str) -> Path:
    path = folder / "file.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


@pytest.fixture(params=[1, 7, 64, 2**22])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Reading in small chunks cuts values, numbers and characters anywhere."""
    monkeypatch.setattr(json_stream, "NUM_CHUNK_BYTES", request.param)
    return request.param


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.usefixtures("chunk")
def test_an_array_comes_element_by_element(tmp_path: Path, ascii_only: bool, indent: int | None) -> None:
    path = write(tmp_path, json.dumps(VALUES, ensure_ascii=ascii_only, indent=indent))
    found = list(stream_json(path, "["))
    assert [value for _, value, _, _ in found] == VALUES
    content = path.read_bytes()
    assert [json.loads(content[start:end]) for _, _, start, end in found] == VALUES


@pytest.mark.usefixtures("chunk")
def test_an_object_comes_with_its_names(tmp_path: Path) -> None:
    named = {f"name {number} é": value for number, value in enumerate(VALUES)}
    path = write(tmp_path, "\ufeff \n" + json.dumps(named, ensure_ascii=False) + "\n ")
    found = list(stream_json(path, "{"))
    assert {key: value for key, value, _, _ in found} == named
    content = path.read_bytes()
    assert [json.loads(content[start:end]) for _, _, start, end in found] == VALUES


@pytest.mark.parametrize("text", ["[]", "{}", " [ ] ", "null"])
def test_nothing_in_it(tmp_path: Path, text: str) -> None:
    assert list(stream_json(write(tmp_path, text), "{" if "{" in text else "[")) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "expected an array at byte 0"),
        ("{}", "expected an array at byte 0"),
        ("nothing", "Expecting value in what begins at byte 0"),
        ("[1, 2", "expected ',' at byte 5"),
        ("[1 2]", "expected ',' at byte 3"),
        ("[1,]", "expected an element at byte 3"),
        ("[1] x", "expected the end at byte 4"),
        ('["é", "open', "in what begins at byte 7"),
        ('[{"a" 1}]', "Expecting ':' delimiter in what begins at byte 1"),
    ],
)
@pytest.mark.usefixtures("chunk")
def test_what_is_not_json_is_an_error_that_names_file_and_byte(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(DataError) as caught:
        list(stream_json(write(tmp_path, text), "["))
    assert named in str(caught.value)
    assert "file.json" in str(caught.value)


@pytest.mark.parametrize("text", ['{"a": 1', '{"a" 1}', "{1: 2}", '{"a": 1, }', '{"a"}'])
def test_a_broken_object_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"(at|before) byte|begins at"):
        list(stream_json(write(tmp_path, text), "{"))


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(b'["\xff"]')
    with pytest.raises(DataError, match="utf-8"):
        list(stream_json(path, "["))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json"):
        list(stream_json(tmp_path / "none.json", "["))


def test_a_record_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "NUM_CHUNK_BYTES", 100)
    monkeypatch.setattr(json_stream, "MAX_ELEMENT_CHARS", 1000)
    reports: list[int] = []
    with pytest.raises(DataError, match="begins at byte 1"):
        list(stream_json(write(tmp_path, '["' + "x" * 100_000), "[", reports.append))
    assert max(reports) < 5000
