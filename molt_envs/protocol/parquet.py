"""Dumps of episodes as Parquet, one row per episode; needs the extra `parquet` (pyarrow).

In: `Episode`s. Out: a file whose columns are the episode's fields, and the same episodes back, exactly.
"""

# pyarrow ships no types; what it reads is checked field by field.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from molt_envs.errors import ProtocolError
from molt_envs.protocol.episode import Episode
from molt_envs.protocol.plain import episode_from_plain, episode_to_plain
from molt_envs.protocol.wire import escape_text, unescape_text

_ROWS_PER_GROUP = 256

_IMAGE = pa.struct(
    [
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("height", pa.int64()),
        ("width", pa.int64()),
        ("pixels", pa.binary()),
    ]
)
_EXPERTS = pa.struct([("layers", pa.int64()), ("top_k", pa.int64()), ("experts", pa.list_(pa.int16()))])
_SEGMENT = pa.struct(
    [
        ("token_ids", pa.list_(pa.int32())),
        ("action_ranges", pa.list_(pa.list_(pa.int64()))),
        ("logprobs", pa.list_(pa.float32())),
        ("policy_versions", pa.list_(pa.int32())),
        ("rewards", pa.list_(pa.float64())),
        ("loss_mask", pa.list_(pa.bool_())),
        ("stop_reason", pa.string()),
        ("state_keys", pa.list_(pa.string())),
        ("images", pa.list_(_IMAGE)),
        ("routed_experts", _EXPERTS),
        ("parent", pa.int64()),
        ("bootstrap_ids", pa.list_(pa.int32())),
    ]
)
_SAMPLING = pa.struct([("temperature", pa.float64()), ("max_tokens", pa.int64()), ("seed", pa.uint64())])
SCHEMA = pa.schema(
    [
        ("protocol_version", pa.int64()),
        ("episode_id", pa.string()),
        ("env_id", pa.string()),
        ("task_id", pa.string()),
        ("seed", pa.uint64()),
        ("split", pa.string()),
        ("group_id", pa.string()),
        ("outcome", pa.string()),
        ("score", pa.float64()),
        ("success", pa.bool_()),
        ("segments", pa.list_(_SEGMENT)),
        ("sampling", _SAMPLING),
        ("renderer_id", pa.string()),
        ("seat", pa.int64()),
        ("reason", pa.string()),
        ("metadata", pa.map_(pa.string(), pa.string())),
    ]
)
"""Column names are the episode's field names; strings that UTF-8 cannot hold are escaped as in JSON."""


def write_parquet(path: str | os.PathLike[str], episodes: Iterable[Episode]) -> int:
    """Write the episodes; gives their number. The file appears under its name only when it is complete."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    remaining = iter(episodes)
    num_episodes = 0
    try:
        with pq.ParquetWriter(partial, SCHEMA) as writer:
            while rows := [_to_row(episode) for episode in islice(remaining, _ROWS_PER_GROUP)]:
                try:
                    table = pa.Table.from_pylist(rows, schema=SCHEMA)
                except (pa.ArrowInvalid, OverflowError) as error:
                    raise ProtocolError(f"an episode does not fit the columns: {error}") from error
                writer.write_table(table)
                num_episodes += len(rows)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return num_episodes


def write_rows(path: str | os.PathLike[str], rows: list[dict[str, Any]]) -> None:
    """Write plain rows with the columns that their values have; whole or not at all."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        pq.write_table(pa.Table.from_pylist(_map_texts(rows, escape_text)), partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def read_parquet(path: str | os.PathLike[str]) -> Iterator[Episode]:
    """The file's episodes in order.

    Raises:
        ProtocolError: not a Parquet file, other columns than this version's, a broken invariant.
    """
    with open(path, "rb") as source:
        try:
            file = pq.ParquetFile(source)
        except pa.ArrowInvalid as error:
            raise ProtocolError(f"{path}: not a Parquet file: {error}") from error
        index = 0
        for batch in file.iter_batches(batch_size=_ROWS_PER_GROUP):
            for row in batch.to_pylist():
                try:
                    yield episode_from_plain(_from_row(row))
                except ProtocolError as error:
                    raise ProtocolError(f"{path}: row {index}: {error}") from error
                index += 1


def _to_row(episode: Episode) -> dict[str, Any]:
    row: dict[str, Any] = _map_texts(episode_to_plain(episode), escape_text)
    row["metadata"] = list(row["metadata"].items())
    for segment in row["segments"]:
        for key in ("token_ids", "logprobs", "policy_versions", "loss_mask", "bootstrap_ids"):
            segment[key] = None if segment[key] is None else _numbers(segment[key])
        experts = segment["routed_experts"]
        if experts is not None:
            _, layers, top_k = experts["shape"]
            segment["routed_experts"] = {"layers": layers, "top_k": top_k, "experts": _numbers(experts)}
        for image in segment["images"]:
            pixels = image["pixels"]
            image["height"], image["width"], _ = pixels["shape"]
            image["pixels"] = pixels["data"]
    return row


def _from_row(row: dict[str, Any]) -> dict[str, Any]:
    try:
        row["metadata"] = dict(row["metadata"])
        for segment in row["segments"]:
            num_tokens = len(segment["token_ids"])
            experts = segment["routed_experts"]
            if experts is not None:
                data = np.array(experts["experts"], dtype="<i2").tobytes()
                shape = [num_tokens, experts["layers"], experts["top_k"]]
                segment["routed_experts"] = {"dtype": "<i2", "shape": shape, "data": data}
            for image in segment["images"]:
                shape = [image.pop("height"), image.pop("width"), 3]
                image["pixels"] = {"dtype": "|u1", "shape": shape, "data": image["pixels"]}
    except (KeyError, TypeError) as error:
        raise ProtocolError(f"columns are not those of this version: {error}") from error
    return _map_texts(row, unescape_text)


def _numbers(array: dict[str, Any]) -> Any:
    return np.frombuffer(array["data"], dtype=array["dtype"])


def _map_texts(value: Any, change: Any) -> Any:
    """The value with `change` applied to every string in it, keys included."""
    match value:
        case str():
            return change(value)
        case dict():
            return {change(key): _map_texts(item, change) for key, item in value.items()}
        case list() if value and not isinstance(value[0], int | float):
            return [_map_texts(item, change) for item in value]
        case _:
            return value
