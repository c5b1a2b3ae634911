"""Episodes as plain maps and lists, the form that all encoders share.

In: an `Episode`. Out: a map with one entry per field (arrays as maps of dtype, shape and bytes), and back.
"""

from __future__ import annotations

from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from molt_envs.errors import ProtocolError
from molt_envs.protocol.episode import (
    PROTOCOL_VERSION,
    Episode,
    ImageSpan,
    Outcome,
    SamplingRecord,
    Segment,
    StopReason,
)
from molt_envs.protocol.fields import DTYPE_NAMES, Fields


def episode_to_plain(episode: Episode) -> dict[str, object]:
    """The episode's fields by name, in the order of their declaration but the version first."""
    return {
        "protocol_version": episode.protocol_version,
        "episode_id": episode.episode_id,
        "env_id": episode.env_id,
        "task_id": episode.task_id,
        "seed": int(episode.seed),
        "split": episode.split,
        "group_id": episode.group_id,
        "outcome": episode.outcome,
        "score": None if episode.score is None else float(episode.score),
        "success": None if episode.success is None else bool(episode.success),
        "segments": [_segment_to_plain(segment) for segment in episode.segments],
        "sampling": {
            "temperature": float(episode.sampling.temperature),
            "max_tokens": int(episode.sampling.max_tokens),
            "seed": int(episode.sampling.seed),
        },
        "renderer_id": episode.renderer_id,
        "seat": int(episode.seat),
        "reason": episode.reason,
        "metadata": dict(episode.metadata),
    }


def episode_from_plain(value: object) -> Episode:
    """The episode in a decoded map.

    Raises:
        ProtocolError: another version, a missing, unknown or mistyped field (named), a broken invariant.
    """
    fields = Fields(value)
    version = fields.integer("protocol_version")
    if version != PROTOCOL_VERSION:
        raise ProtocolError(f"protocol version {version}; this library speaks {PROTOCOL_VERSION}")
    segments = tuple(
        _segment_from_plain(item, f"segments[{index}]") for index, item in enumerate(fields.items("segments"))
    )
    episode = Episode(
        episode_id=fields.text("episode_id"),
        env_id=fields.text("env_id"),
        task_id=fields.text("task_id"),
        seed=fields.integer("seed"),
        split=fields.text("split"),
        group_id=fields.text("group_id"),
        outcome=cast("Outcome", _one_of(fields, "outcome", get_args(Outcome))),
        score=fields.optional_number("score"),
        success=fields.optional_bool("success"),
        segments=segments,
        sampling=_sampling_from_plain(fields.take("sampling")),
        renderer_id=fields.text("renderer_id"),
        seat=fields.integer("seat"),
        reason=fields.text("reason"),
        protocol_version=version,
        metadata=fields.text_map("metadata"),
    )
    fields.done()
    return episode


def _segment_to_plain(segment: Segment) -> dict[str, object]:
    return {
        "token_ids": _array(segment.token_ids),
        "action_ranges": [[int(start), int(end)] for start, end in segment.action_ranges],
        "logprobs": _array(segment.logprobs),
        "policy_versions": _array(segment.policy_versions),
        "rewards": [None if reward is None else float(reward) for reward in segment.rewards],
        "loss_mask": _array(segment.loss_mask),
        "stop_reason": segment.stop_reason,
        "state_keys": list(segment.state_keys),
        "images": [
            {"start": int(image.start), "end": int(image.end), "pixels": _array(image.pixels)}
            for image in segment.images
        ],
        "routed_experts": None if segment.routed_experts is None else _array(segment.routed_experts),
        "parent": None if segment.parent is None else int(segment.parent),
        "bootstrap_ids": None if segment.bootstrap_ids is None else _array(segment.bootstrap_ids),
    }


def _segment_from_plain(value: object, where: str) -> Segment:
    fields = Fields(value, where)
    images = tuple(
        _image_from_plain(item, f"{where}.images[{index}]")
        for index, item in enumerate(fields.items("images"))
    )
    values: dict[str, Any] = {
        "token_ids": fields.array("token_ids", np.int32),
        "action_ranges": fields.ranges("action_ranges"),
        "logprobs": fields.array("logprobs", np.float32),
        "policy_versions": fields.array("policy_versions", np.int32),
        "rewards": fields.numbers_or_nulls("rewards"),
        "loss_mask": fields.array("loss_mask", np.bool_),
        "stop_reason": _one_of(fields, "stop_reason", get_args(StopReason)),
        "state_keys": fields.texts_or_nulls("state_keys"),
        "images": images,
        "routed_experts": fields.optional_array("routed_experts", np.int16, 3),
        "parent": fields.optional_integer("parent"),
        "bootstrap_ids": fields.optional_array("bootstrap_ids", np.int32),
    }
    fields.done()
    try:
        return Segment(**values)
    except ProtocolError as error:
        raise ProtocolError(f"{where}: {error}") from error


def _image_from_plain(value: object, where: str) -> ImageSpan:
    fields = Fields(value, where)
    image = ImageSpan(fields.integer("start"), fields.integer("end"), fields.array("pixels", np.uint8, 3))
    fields.done()
    return image


def _sampling_from_plain(value: object) -> SamplingRecord:
    fields = Fields(value, "sampling")
    record = SamplingRecord(
        fields.number("temperature"), fields.integer("max_tokens"), fields.integer("seed")
    )
    fields.done()
    return record


def _one_of(fields: Fields, key: str, known: tuple[str, ...]) -> str:
    value = fields.text(key)
    if value not in known:
        raise ProtocolError(f"field {fields.path(key)} is {value!r}; known are {', '.join(known)}")
    return value


def _array(array: NDArray[Any]) -> dict[str, object]:
    name = DTYPE_NAMES[array.dtype.name]
    data = array.astype(name, order="C", copy=False).tobytes()
    return {"dtype": name, "shape": list(array.shape), "data": data}
