"""Wire forms: exact round trips, and errors that name what is wrong."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from molt_envs import (
    Episode,
    ProtocolError,
    episode_from_json,
    episode_from_msgpack,
    episode_to_json,
    episode_to_msgpack,
    read_episodes,
    write_episodes,
)
from molt_envs.protocol.parquet import read_parquet, write_parquet
from molt_envs.protocol.plain import episode_from_plain, episode_to_plain
from molt_envs.protocol.wire import escape_text, unescape_text
from tests.molt_envs.samples import make_episode


def same(one: Any, two: Any) -> bool:
    """Bitwise equality of episodes, field by field, arrays with their dtypes."""
    if isinstance(one, np.ndarray):
        return (one.dtype, one.shape, one.tobytes()) == (two.dtype, two.shape, two.tobytes())
    if dataclasses.is_dataclass(one):
        return type(one) is type(two) and all(
            same(vars(one)[field.name], vars(two)[field.name]) for field in dataclasses.fields(one)
        )
    if isinstance(one, tuple):
        return isinstance(two, tuple) and len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and one == two


def test_same_sees_a_difference_of_one_bit() -> None:
    one, two = make_episode(), make_episode()
    assert same(one, two)
    two.segments[1].logprobs[3] = np.nextafter(two.segments[1].logprobs[3], np.float32(0))
    assert not same(one, two)


def test_msgpack_round_trip_is_exact() -> None:
    assert same(episode_from_msgpack(episode_to_msgpack(make_episode())), make_episode())


def test_json_round_trip_is_exact() -> None:
    text = episode_to_json(make_episode())
    assert text.isascii()
    assert same(episode_from_json(text), make_episode())


def test_json_keeps_every_float32() -> None:
    bits = np.random.default_rng(0).integers(0x80000000, 0xFF800000, size=9, dtype=np.uint32)
    episode = make_episode()
    segment = episode.segments[0]
    logprobs = np.where(segment.action_mask, bits.view(np.float32), np.float32(0))
    episode = make_episode(segments=(dataclasses.replace(segment, logprobs=logprobs),))
    assert same(episode_from_json(episode_to_json(episode)), episode)


def test_parquet_round_trip_is_exact(tmp_path: Path) -> None:
    episodes = [make_episode(), make_episode(outcome="unresolved", score=None, success=None, segments=())]
    assert write_parquet(tmp_path / "dump.parquet", episodes) == 2
    back = list(read_parquet(tmp_path / "dump.parquet"))
    assert [same(one, two) for one, two in zip(back, episodes, strict=True)] == [True, True]


def test_parquet_columns_are_the_fields(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    write_parquet(tmp_path / "dump.parquet", [make_episode()])
    names = set(pq.read_schema(tmp_path / "dump.parquet").names)
    assert names == {field.name for field in dataclasses.fields(Episode)}


def test_parquet_refuses_another_file(tmp_path: Path) -> None:
    (tmp_path / "dump.parquet").write_bytes(b"no parquet here")
    with pytest.raises(ProtocolError, match=r"dump\.parquet"):
        next(read_parquet(tmp_path / "dump.parquet"))


def test_parquet_refuses_other_columns(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1]}), tmp_path / "dump.parquet")
    with pytest.raises(ProtocolError, match="columns"):
        next(read_parquet(tmp_path / "dump.parquet"))


@pytest.mark.parametrize("text", ["", "a", "\0", "\0\0", "\ud800", "\ud83d\ude00", "😀", "\0QQ=="])
def test_escaped_text_comes_back(text: str) -> None:
    assert unescape_text(escape_text(text)) == text
    escape_text(text).encode("utf-8")


def test_arrays_are_writable_copies() -> None:
    episode = episode_from_msgpack(episode_to_msgpack(make_episode()))
    episode.segments[0].loss_mask[3] = False


def changed(path: str, value: Any) -> dict[str, Any]:
    """The plain form of the sample with one entry replaced; `path` is dotted, digits are indices."""
    plain: dict[str, Any] = episode_to_plain(make_episode())
    *parents, last = path.split(".")
    place: Any = plain
    for key in parents:
        place = place[int(key)] if key.isdigit() else place[key]
    place[last] = value
    return plain


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("protocol_version", 2, "protocol version 2; this library speaks 1"),
        ("protocol_version", True, "field protocol_version is of type bool"),
        ("seed", 1.0, "field seed is of type float, not an integer"),
        ("seed", True, "field seed is of type bool"),
        ("score", "0.5", "field score is of type str, not a number"),
        ("score", float("nan"), "field score is nan"),
        ("success", 1, "field success is of type int"),
        ("outcome", "won", "field outcome is 'won'; known are terminated"),
        ("episode_id", None, "field episode_id is null, not a string"),
        ("metadata", {"a": 1}, "field metadata maps 'a'"),
        ("segments", {}, "field segments is of type dict, not a list"),
        ("sampling.temperature", None, "field sampling.temperature is null"),
        ("sampling.top_p", 1.0, "unknown field sampling.top_p"),
        ("colour", "red", "unknown field colour"),
        ("segments.1.stop_reason", "tired", r"field segments\[1\].stop_reason is 'tired'"),
        ("segments.0.rewards", [0.5, "x"], r"field segments\[0\].rewards\[1\] is of type str"),
        ("segments.0.rewards", [0.5], r"segments\[0\]: 1 rewards for 2 action ranges"),
        ("segments.0.action_ranges", [[3, 5], [6]], r"field segments\[0\].action_ranges\[1\]"),
        ("segments.0.token_ids", [1, 2.0], r"field segments\[0\].token_ids\[1\] is of type float"),
        ("segments.0.token_ids", [2**31], r"field segments\[0\].token_ids has a number"),
        ("segments.0.logprobs", [-1e300], r"field segments\[0\].logprobs has a number"),
        ("segments.0.token_ids", "abc", r"field segments\[0\].token_ids is of type str, not an array"),
        ("segments.0.logprobs.dtype", "<f8", r"field segments\[0\].logprobs has dtype '<f8', not '<f4'"),
        ("segments.0.logprobs.dtype", "|O", r"field segments\[0\].logprobs has dtype '\|O'"),
        ("segments.0.logprobs.shape", [3, 3], r"field segments\[0\].logprobs has 2 axes"),
        ("segments.0.logprobs.shape", [-9], r"field segments\[0\].logprobs has shape"),
        ("segments.0.logprobs.data", b"123", r"field segments\[0\].logprobs has 3 bytes"),
        (
            "segments.0.loss_mask.data",
            b"\x02" * 9,
            r"field segments\[0\].loss_mask has bytes other than 0 and 1",
        ),
        ("segments.1.images.0.pixels.shape", [8, 3], r"field segments\[1\].images\[0\].pixels has 2 axes"),
        ("segments.1.parent", 1, "segment 1 has parent 1"),
    ],
)
def test_a_wrong_field_is_named(path: str, value: Any, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        episode_from_plain(changed(path, value))


@pytest.mark.parametrize(
    "path", ["", "sampling", "segments.0", "segments.1.images.0", "segments.0.token_ids"]
)
def test_every_missing_field_is_named(path: str) -> None:
    keys = [part for part in path.split(".") if part]
    template: Any = episode_to_plain(make_episode())
    for key in keys:
        template = template[int(key)] if key.isdigit() else template[key]
    for missing in list(template):
        plain: Any = episode_to_plain(make_episode())
        place = plain
        for key in keys:
            place = place[int(key)] if key.isdigit() else place[key]
        del place[missing]
        with pytest.raises(ProtocolError, match=f"{missing} is missing"):
            episode_from_plain(plain)


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x93\x01", pickle.dumps({"a": 1}), b"\x81\x01\x01", b"\x91" * 2000]
)
def test_bytes_that_are_no_episode_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        episode_from_msgpack(data)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"a": NaN}', "[" * 100_000, '{"a": 1, "a": 2}'])
def test_text_that_is_no_episode_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError):
        episode_from_json(text)


def test_damaged_bytes_are_an_episode_or_a_protocol_error() -> None:
    data, rng = episode_to_msgpack(make_episode()), np.random.default_rng(0)
    num_refused = 0
    for _ in range(2000):
        damaged = bytearray(data)
        for place in rng.integers(len(data), size=2):
            damaged[place] = int(rng.integers(256))
        try:
            episode_from_msgpack(bytes(damaged))
        except ProtocolError:
            num_refused += 1
    assert num_refused > 1000


def test_another_version_is_named_before_its_fields() -> None:
    plain = changed("protocol_version", 2)
    plain["a_field_of_version_2"] = plain.pop("seat")
    with pytest.raises(ProtocolError, match="protocol version 2"):
        episode_from_plain(plain)


def test_a_field_that_occurs_twice_is_refused() -> None:
    text = episode_to_json(make_episode()).replace('"seat": 1', '"seat": 1, "seat": 2')
    with pytest.raises(ProtocolError, match="'seat' occurs twice"):
        episode_from_json(text)


def test_a_seed_of_more_than_64_bits_is_refused() -> None:
    with pytest.raises(ProtocolError, match="64 bits"):
        episode_to_msgpack(make_episode(seed=2**64))


def test_other_writers_may_send_lists_and_short_floats() -> None:
    value = json.loads(episode_to_json(make_episode(segments=make_episode().segments[:1])))
    value["segments"][0]["logprobs"][3] = -0.1
    episode = episode_from_msgpack(msgpack.packb(value, unicode_errors="surrogatepass"))
    assert episode.segments[0].logprobs[3] == np.float32(-0.1)


def test_a_file_of_episodes_comes_back(tmp_path: Path) -> None:
    episodes = [make_episode(seed=seed) for seed in range(3)]
    assert write_episodes(tmp_path / "run.episodes", iter(episodes)) == 3
    back = list(read_episodes(tmp_path / "run.episodes"))
    assert [same(one, two) for one, two in zip(back, episodes, strict=True)] == [True] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["run.episodes"]


def test_every_cut_of_a_file_is_reported_after_what_is_intact(tmp_path: Path) -> None:
    path = tmp_path / "run.episodes"
    write_episodes(path, [make_episode(), make_episode()])
    data = path.read_bytes()
    record = len(data) // 2
    for cut in (1, 3, 4, record - 1, record + 2, len(data) - 1):
        path.write_bytes(data[:cut])
        intact = 0
        with pytest.raises(
            ProtocolError, match=rf"run\.episodes.*{cut // record} episodes before it are intact"
        ):
            for _ in read_episodes(path):
                intact += 1
        assert intact == cut // record


def test_a_damaged_episode_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.episodes"
    write_episodes(path, [make_episode(), make_episode()])
    data = bytearray(path.read_bytes())
    data[len(data) // 2 + 4] = 0xC1
    path.write_bytes(data)
    reader = read_episodes(path)
    next(reader)
    with pytest.raises(ProtocolError, match=r"run\.episodes: episode 1 at byte"):
        next(reader)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.episodes"
    write_episodes(path, [make_episode()])
    with pytest.raises(ProtocolError):
        write_episodes(path, [make_episode(), make_episode(seed=2**64)])
    assert len(list(read_episodes(path))) == 1
    assert len(list(tmp_path.iterdir())) == 1
