"""Wire forms of episodes: msgpack bytes between processes, JSON text for people, files of many episodes.

In: `Episode`s. Out: bytes, text or files, and back, exactly. Nothing is ever unpickled.
"""

# msgpack ships no types; what it decodes is checked field by field.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

import msgpack
import numpy as np

from molt_envs.errors import ProtocolError
from molt_envs.protocol.episode import Episode
from molt_envs.protocol.plain import episode_from_plain, episode_to_plain

_PREFIX_BYTES = 4
_NEEDS_ESCAPE = re.compile("^\0|[\ud800-\udfff]")


def episode_to_msgpack(episode: Episode) -> bytes:
    """The episode as one msgpack map; surrogates in strings are written as UTF-8 would write them."""
    try:
        return cast("bytes", msgpack.packb(episode_to_plain(episode), unicode_errors="surrogatepass"))
    except OverflowError as error:
        raise ProtocolError(f"episode {episode.episode_id!r} has an integer of more than 64 bits") from error


def episode_from_msgpack(data: bytes) -> Episode:
    """The episode in `data`.

    Raises:
        ProtocolError: no msgpack, another version, a field missing, unknown or mistyped, a broken invariant.
    """
    try:
        value = _unpack(data)
    except ProtocolError:
        raise
    except (ValueError, msgpack.UnpackException) as error:
        reason = str(error) or type(error).__name__
        raise ProtocolError(f"{len(data)} bytes are not one msgpack message: {reason}") from error
    return episode_from_plain(value)


def episode_to_json(episode: Episode, indent: int | None = None) -> str:
    """The episode as JSON text in ASCII; per-token arrays are lists, pixels and experts base64."""
    return json.dumps(_to_json(episode_to_plain(episode)), indent=indent, allow_nan=False)


def episode_from_json(text: str) -> Episode:
    """The episode in JSON `text`.

    Raises:
        ProtocolError: no JSON, another version, a field missing, unknown or mistyped, a broken invariant.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except ProtocolError:
        raise
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{len(text)} characters are not JSON: {error}") from error
    return episode_from_plain(_from_json(value))


def write_episodes(path: str | os.PathLike[str], episodes: Iterable[Episode]) -> int:
    """Write a file of length-prefixed msgpack messages (4 bytes, big-endian); gives their number.

    The file appears under its name only when it is complete.
    """
    target = Path(path)
    num_episodes = 0
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            for episode in episodes:
                data = episode_to_msgpack(episode)
                file.write(len(data).to_bytes(_PREFIX_BYTES, "big") + data)
                num_episodes += 1
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return num_episodes


def read_episodes(path: str | os.PathLike[str]) -> Iterator[Episode]:
    """The file's episodes, one at a time; those before a damage are given before it is reported.

    Raises:
        ProtocolError: the file is cut or damaged; the message names the file, the episode and the byte.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        index = 0
        while num_bytes := _prefix(file.read(_PREFIX_BYTES), path, index, file.tell()):
            offset = file.tell()
            if num_bytes > size - offset:
                raise ProtocolError(
                    f"{path}: episode {index} at byte {offset} is cut: {num_bytes} bytes announced, "
                    f"{size - offset} there; {index} episodes before it are intact"
                )
            try:
                episode = episode_from_msgpack(file.read(num_bytes))
            except ProtocolError as error:
                raise ProtocolError(f"{path}: episode {index} at byte {offset}: {error}") from error
            yield episode
            index += 1


def escape_text(text: str) -> str:
    """A string that every JSON and UTF-8 writer keeps: itself, or U+0000 and base64 when it has surrogates
    or begins with U+0000."""
    if _NEEDS_ESCAPE.search(text) is None:
        return text
    return "\0" + base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")


def unescape_text(text: str) -> str:
    """The string that `escape_text` was given.

    Raises:
        ProtocolError: U+0000 is not followed by base64 of a string.
    """
    if not text.startswith("\0"):
        return text
    try:
        return base64.b64decode(text[1:], validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError) as error:
        raise ProtocolError(f"a string that begins with U+0000 is not escaped text: {error}") from error


def _unpack(data: bytes) -> object:
    unpacked = msgpack.unpackb(data, unicode_errors="surrogatepass", object_pairs_hook=_unique, raw=False)
    return cast("object", unpacked)


def _prefix(head: bytes, path: str | os.PathLike[str], index: int, offset: int) -> int:
    if not head:
        return 0
    if len(head) < _PREFIX_BYTES or not any(head):
        raise ProtocolError(
            f"{path}: a cut or empty message ends at byte {offset}; {index} episodes before it are intact"
        )
    return int.from_bytes(head, "big")


def _unique(pairs: list[tuple[object, object]]) -> dict[object, object]:
    """A map whose keys are all different; two fields of one name would hide one of them."""
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [key for key, _ in pairs]
        raise ProtocolError(f"field {next(key for key in names if names.count(key) > 1)!r} occurs twice")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ProtocolError(f"{name} is not a number of this format; an unscored turn is null")


def _to_json(value: object) -> object:
    match value:
        case str():
            return escape_text(value)
        case {"dtype": str(dtype), "shape": list(), "data": bytes(data)}:
            return _array_to_json(cast("dict[str, Any]", value), dtype, data)
        case Mapping():
            return {escape_text(str(key)): _to_json(item) for key, item in cast("Any", value).items()}
        case list():
            return [_to_json(item) for item in cast("list[object]", value)]
        case _:
            return value


def _array_to_json(value: dict[str, Any], dtype: str, data: bytes) -> object:
    if len(value["shape"]) == 1:
        return np.frombuffer(data, dtype=dtype).tolist()
    return {**value, "data": base64.b64encode(data).decode("ascii")}


def _from_json(value: object) -> object:
    match value:
        case str():
            return unescape_text(value)
        case dict():
            return {unescape_text(str(key)): _from_json(item) for key, item in cast("Any", value).items()}
        case list():
            return [_from_json(item) for item in cast("list[object]", value)]
        case _:
            return value
