"""Images: how an observation carries one, and what stands for it in a message.

In: observations, which are a `str` or an `ImageObservation`. Out: their text, and `Image`s that compare by
their pixels. An image of zeros alone means that there is nothing to see: it becomes no `Image`.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from molt_envs.errors import ProtocolError

Pixels: TypeAlias = NDArray[np.uint8]
"""(height, width, 3) uint8: red, green, blue, the top row first."""


class ImageObservation(TypedDict):
    """An observation of an environment whose card has an `image_size`."""

    text: str
    """What is said."""
    image: Pixels
    """What is shown; zeros alone where this turn shows nothing."""


Observation: TypeAlias = Any
"""A `str`, or an `ImageObservation`; which one, an environment's card says once for all of its turns."""


@dataclass(frozen=True, eq=False)
class Image:
    """One image in a message. Two are equal if their pixels are: prompts are compared and cached by it."""

    pixels: Pixels
    """(height, width, 3) uint8; not to be written to."""

    def __post_init__(self) -> None:
        shape = self.pixels.shape
        if self.pixels.dtype != np.uint8 or len(shape) != 3 or shape[2] != 3 or not self.pixels.size:
            raise ProtocolError(f"an image is {self.pixels.dtype} {shape}, not uint8 (height, width, 3)")

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits that follow from size and pixels."""
        told = str(self.pixels.shape).encode() + np.ascontiguousarray(self.pixels).tobytes()
        return hashlib.sha256(told).hexdigest()[:16]

    def png(self) -> bytes:
        """The image as a PNG file."""
        from PIL import Image as Pictures

        file = io.BytesIO()
        Pictures.fromarray(self.pixels).save(file, "png")
        return file.getvalue()

    def url(self) -> str:
        """The PNG file as a `data:` URL, as chat protocols take it."""
        return f"data:image/png;base64,{base64.b64encode(self.png()).decode()}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Image) and (
            self.pixels is other.pixels or np.array_equal(self.pixels, other.pixels)
        )

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        height, width, _ = self.pixels.shape
        return f"[image {width}x{height} {self.digest}]"


def text_of(observation: Observation) -> str:
    """The text of an observation."""
    return observation if isinstance(observation, str) else str(observation["text"])


def images_of(observation: Observation) -> tuple[Image, ...]:
    """The images that an observation shows: none where it is text alone, or where its image is empty."""
    if isinstance(observation, str):
        return ()
    pixels = cast("Mapping[str, Pixels]", observation)["image"]
    return (Image(pixels),) if pixels.any() else ()


def describe(observation: Observation) -> str:
    """The text, and a line with size and digest for each image: for records, logs and comparisons."""
    return "\n".join([text_of(observation), *map(repr, images_of(observation))])
