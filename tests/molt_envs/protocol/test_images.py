"""Images in observations and messages: what they are, and when two of them are the same."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image as Pictures

from molt_envs import Image, Message, ProtocolError, describe, images_of, text_of

PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


def test_a_text_has_no_images() -> None:
    assert (text_of("hello"), images_of("hello"), describe("hello")) == ("hello", (), "hello")


def test_an_observation_of_both_gives_both() -> None:
    observation = {"text": "look", "image": PIXELS}
    (image,) = images_of(observation)
    assert text_of(observation) == "look" and image.pixels is PIXELS
    assert describe(observation) == f"look\n[image 4x2 {image.digest}]"


def test_an_image_of_zeros_is_none() -> None:
    observation = {"text": "look", "image": np.zeros((2, 4, 3), np.uint8)}
    assert images_of(observation) == () and describe(observation) == "look"


def test_images_are_equal_by_their_pixels() -> None:
    other = PIXELS.copy()
    assert Image(PIXELS) == Image(other) and hash(Image(PIXELS)) == hash(Image(other))
    other[1, 3, 2] += 1
    assert Image(PIXELS) != Image(other) and Image(PIXELS).digest != Image(other).digest
    assert Image(PIXELS).digest != Image(PIXELS.reshape(4, 2, 3)).digest


def test_messages_with_the_same_text_and_other_images_differ() -> None:
    one, two = (Message("user", "look", images=(Image(PIXELS + step),)) for step in (0, 1))
    assert one != two and one == Message("user", "look", images=(Image(PIXELS.copy()),))


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((2, 2), np.uint8),
        np.zeros((2, 2, 4), np.uint8),
        np.zeros((2, 2, 3), np.float32),
        np.zeros((0, 2, 3), np.uint8),
    ],
)
def test_what_is_no_image_is_refused(pixels: np.ndarray) -> None:
    with pytest.raises(ProtocolError, match="not uint8"):
        Image(pixels)


def test_the_policy_makes_no_images() -> None:
    with pytest.raises(ValueError, match="a policy writes text alone"):
        Message("assistant", "look", images=(Image(PIXELS),))


def test_a_png_file_holds_the_same_pixels() -> None:
    assert (np.asarray(Pictures.open(io.BytesIO(Image(PIXELS).png()))) == PIXELS).all()
    assert Image(PIXELS).url().startswith("data:image/png;base64,iVBOR")


def test_chat_templates_get_the_images_as_parts_before_the_text() -> None:
    assert Message("user", "look", images=(Image(PIXELS),)).to_chat() == {
        "role": "user",
        "content": [{"type": "image"}, {"type": "text", "text": "look"}],
    }
