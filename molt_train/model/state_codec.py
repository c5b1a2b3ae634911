"""Nested state as tensors and JSON, exactly: no pickle, so that reading a checkpoint runs no code.

In: dicts (any plain keys), lists, tuples, tensors, numpy arrays, numbers, strings, bools, None. Out: tensors
by key and a JSON value that refers to them; and back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

_TAG = "#"
_Shape = tuple[int, torch.Size, tuple[int, ...], torch.dtype]


class StateEncoder:
    """Collects the tensors of one state; a tensor that occurs twice (a tied head) is stored once."""

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        """Contiguous tensors on the CPU; no two share memory."""
        self._seen: dict[_Shape, str] = {}
        self._alive: list[torch.Tensor] = []

    def encode(self, value: object, path: str = "") -> Any:
        """The JSON form of `value`. Raises `TypeError` naming the path of what cannot be stored."""
        match value:
            case torch.Tensor():
                return {_TAG: "tensor", "key": self._store(value, path)}
            case np.ndarray():
                return {_TAG: "array", "key": self._store(torch.from_numpy(value.copy()), path)}
            case bool() | int() | str() | None:
                return value
            case float():
                return value if math.isfinite(value) else {_TAG: "float", "value": str(value)}
            case list():
                return [self.encode(item, f"{path}/{index}") for index, item in enumerate(value)]
            case tuple():
                return {_TAG: "tuple", "items": self.encode(list(value), path)}
            case Mapping():
                return self._encode_mapping(value, path)
            case _:
                raise TypeError(
                    f"{path or 'state'} is {type(value).__name__}; it must be a tensor or a plain value"
                )

    def _encode_mapping(self, value: Mapping[Any, Any], path: str) -> Any:
        items = {key: self.encode(item, f"{path}/{key}" if path else str(key)) for key, item in value.items()}
        if all(isinstance(key, str) for key in items) and _TAG not in items:
            return items
        return {_TAG: "mapping", "items": [[self.encode(key, path), item] for key, item in items.items()]}

    def _store(self, tensor: torch.Tensor, path: str) -> str:
        detached = tensor.detach()
        identity = (detached.data_ptr(), detached.shape, detached.stride(), detached.dtype)
        if detached.numel() and identity in self._seen:
            return self._seen[identity]
        while path in self.tensors:
            path += "~"
        self._seen[identity] = path
        self._alive.append(detached)
        self.tensors[path] = detached.cpu().clone(memory_format=torch.contiguous_format)
        return path


def decode(value: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    """The inverse of `StateEncoder.encode`."""
    if isinstance(value, list):
        return [decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    match value.get(_TAG):
        case None:
            return {key: decode(item, tensors) for key, item in value.items()}
        case "tensor":
            return tensors[value["key"]]
        case "array":
            return tensors[value["key"]].numpy()
        case "float":
            return float(value["value"])
        case "tuple":
            return tuple(decode(item, tensors) for item in value["items"])
        case "mapping":
            return {decode(key, tensors): decode(item, tensors) for key, item in value["items"]}
        case tag:
            raise ValueError(f"unknown mark {tag!r} in the state")
