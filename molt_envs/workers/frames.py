"""Messages over a socket: a length of 4 bytes, then msgpack.

In: plain values. Out: the same on the other side. Text keeps lone surrogates; lists arrive as tuples,
uint8 arrays as such.
"""

# msgpack ships no types; both ends of the wire are ours.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import socket
import struct
import time
from typing import Any, cast

import msgpack
import numpy as np

from molt_envs.errors import EpisodeDone, InfrastructureError, PolicyError, TaskError

MAX_FRAME_BYTES = 256 * 2**20
PIXELS = 1
"""Code of a uint8 array: its shape and its bytes."""
_LENGTH = struct.Struct("!I")
KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (EpisodeDone, InfrastructureError, PolicyError, TaskError)
}
"""Errors that keep their type on the way to the caller; every other one becomes an `InfrastructureError`."""


class FrameError(ConnectionError):
    """The other side is gone, or sent what is no frame."""


def send_frame(sock: socket.socket, value: object, timeout_s: float | None) -> None:
    """Send one value.

    Raises:
        TypeError: the value holds something that msgpack cannot say.
        TimeoutError: the other side did not take it within `timeout_s`.
        FrameError: the other side is gone.
    """
    body = cast("bytes", msgpack.packb(value, default=_plain, unicode_errors="surrogatepass"))
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError(f"a message of {len(body)} bytes; at most {MAX_FRAME_BYTES} go over the wire")
    sock.settimeout(timeout_s)
    try:
        sock.sendall(_LENGTH.pack(len(body)) + body)
    except TimeoutError:
        raise
    except OSError as error:
        raise FrameError(f"the other side is gone: {error}") from error


def receive_frame(sock: socket.socket, timeout_s: float | None) -> Any:
    """Receive one value.

    Raises:
        TimeoutError: it has not come within `timeout_s`.
        FrameError: the other side is gone, or the frame is none.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    (length,) = _LENGTH.unpack(_receive(sock, _LENGTH.size, deadline))
    if length > MAX_FRAME_BYTES:
        raise FrameError(f"a frame of {length} bytes; at most {MAX_FRAME_BYTES} are read")
    body = _receive(sock, length, deadline)
    try:
        return cast(
            "Any",
            msgpack.unpackb(
                body, use_list=False, strict_map_key=False, unicode_errors="surrogatepass", ext_hook=_array
            ),
        )
    except (ValueError, msgpack.UnpackException) as error:
        raise FrameError(f"a frame that is no msgpack: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        pixels = cast("np.ndarray[Any, np.dtype[np.uint8]]", value)
        return msgpack.ExtType(PIXELS, msgpack.packb((pixels.shape, pixels.tobytes())))
    raise TypeError(f"a {type(value).__name__} cannot leave the process; `info` holds plain values only")


def _array(code: int, data: bytes) -> object:
    if code != PIXELS:
        raise ValueError(f"an unknown extension, {code}")
    shape, content = msgpack.unpackb(data, use_list=False)
    return np.frombuffer(bytearray(content), np.uint8).reshape(shape)


def _receive(sock: socket.socket, num_bytes: int, deadline: float | None) -> bytes:
    parts: list[bytes] = []
    while num_bytes:
        left_s = None if deadline is None else deadline - time.monotonic()
        if left_s is not None and left_s <= 0:
            raise TimeoutError("the time for an answer is over")
        sock.settimeout(left_s)
        try:
            part = sock.recv(min(num_bytes, 2**20))
        except TimeoutError:
            raise
        except OSError as error:
            raise FrameError(f"the other side is gone: {error}") from error
        if not part:
            raise FrameError("the other side is gone")
        parts.append(part)
        num_bytes -= len(part)
    return b"".join(parts)
