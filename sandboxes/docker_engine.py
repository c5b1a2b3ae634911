"""What the docker backend needs of the Docker Engine: in, its address; out, the SDK's client and raw streams.

The SDK hands out a stream's socket after it has read ahead from it; a stream of our own loses no byte.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from sandboxes.base import SandboxError, SandboxUnavailable

ADDRESS_VARIABLE = "DOCKER_HOST"
DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
TIMEOUT_S = 60
STDOUT, STDERR = 1, 2
_CHUNK_BYTES = 65536


class EngineApi(Protocol):
    """The part of `docker.APIClient` that is used."""

    def info(self) -> dict[str, object]: ...
    def images(self, name: str) -> list[object]: ...
    def import_image_from_data(self, data: bytes, *, repository: str, tag: str) -> str: ...
    def create_host_config(self, **options: object) -> dict[str, object]: ...
    def create_container(self, image: str, command: Sequence[str], **options: object) -> dict[str, str]: ...
    def start(self, container: str) -> None: ...
    def containers(self, *, all: bool, filters: Mapping[str, str]) -> list[dict[str, object]]: ...
    def remove_container(self, container: str, *, force: bool, v: bool) -> None: ...
    def exec_create(self, container: str, cmd: Sequence[str], **options: object) -> dict[str, str]: ...
    def exec_inspect(self, exec_id: str) -> dict[str, object]: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Engine:
    """A reachable engine."""

    api: EngineApi
    """The SDK's client."""
    address: str
    """`unix://` and the path of its socket."""


def connect() -> Engine:
    """The engine that DOCKER_HOST names, or the system's own; SandboxUnavailable when none answers."""
    address = os.environ.get(ADDRESS_VARIABLE) or DEFAULT_ADDRESS
    if not address.startswith("unix://"):
        raise SandboxUnavailable(
            f"{ADDRESS_VARIABLE} is {address!r}; only an engine on this machine is used: give unix:///path"
        )
    try:
        import docker
        from docker.errors import DockerException
    except ImportError as error:
        raise SandboxUnavailable(f"the docker SDK is missing ({error}); `pip install docker`") from error
    try:
        api = docker.APIClient(base_url=address, timeout=TIMEOUT_S)
        api.ping()
    except DockerException as error:
        raise SandboxUnavailable(
            f"no Docker Engine answers at {address} ({error}); start dockerd (`apt-get install docker.io`), "
            f"set {ADDRESS_VARIABLE}, or as root run `python -m sandboxes engine COMMAND`"
        ) from error
    return Engine(api=cast(EngineApi, api), address=address)


class EngineStream:
    """One connection that the engine turned into a two-way stream: of an exec, or of a container's stdin."""

    def __init__(self, address: str, path: str, body: Mapping[str, object]) -> None:
        self._pending = bytearray()
        self._received = bytearray()
        self._ends_input = False
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(address.removeprefix("unix://"))
            self._upgrade(path, json.dumps(body).encode())
        except OSError as error:
            self._socket.close()
            raise SandboxError(f"the engine at {address} broke off at {path}: {error}; try again") from error
        except SandboxError:
            self._socket.close()
            raise

    def _upgrade(self, path: str, body: bytes) -> None:
        lines = f"POST {path} HTTP/1.1\r\nHost: engine\r\nContent-Type: application/json\r\n"
        lines += f"Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: {len(body)}\r\n\r\n"
        self._socket.sendall(lines.encode() + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            chunk = self._socket.recv(_CHUNK_BYTES)
            if not chunk:
                raise SandboxError(f"the engine closed {path} after {answer[:200]!r}; try again")
            answer += chunk
        head, _, rest = answer.partition(b"\r\n\r\n")
        if head.split(b" ", 2)[1] not in (b"101", b"200"):
            raise SandboxError(f"the engine refused {path}: {answer[:400].decode(errors='replace')}")
        self._received += rest
        self._socket.setblocking(False)

    def send(self, data: bytes, *, last: bool = False) -> None:
        """Queue bytes for the other side's stdin, which `exchange` writes; `last` ends it after them."""
        self._pending += data
        self._ends_input = self._ends_input or last

    @property
    def has_unsent(self) -> bool:
        """Whether `exchange` has yet to write."""
        return bool(self._pending)

    def exchange(self, end: float) -> list[tuple[int, bytes]] | None:
        """Write and read what can be by `end` (monotonic); TimeoutError when nothing moved by then.

        Out: frames of (STDOUT or STDERR, bytes), possibly none; None when the stream has ended.
        """
        frames = self._frames()
        if frames:
            return frames
        poll = select.poll()
        wants = select.POLLIN | (select.POLLOUT if self._pending or self._ends_input else 0)
        poll.register(self._socket, wants)
        events = poll.poll(max(0.0, end - time.monotonic()) * 1000)
        if not events or time.monotonic() > end:
            raise TimeoutError("the stream did not move in time")
        if events[0][1] & select.POLLOUT:
            self._write()
        if not events[0][1] & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return []
        try:
            data = self._socket.recv(_CHUNK_BYTES)
        except ConnectionError:
            return None
        self._received += data
        return self._frames() if data else None

    def close(self) -> None:
        """Give the connection up; idempotent."""
        self._socket.close()

    def _write(self) -> None:
        try:
            if self._pending:
                del self._pending[: self._socket.send(self._pending)]
            elif self._ends_input:
                self._ends_input = False
                self._socket.shutdown(socket.SHUT_WR)
        except OSError:  # the other side reads no more: what it wrote still counts
            self._pending.clear()
            self._ends_input = False

    def _frames(self) -> list[tuple[int, bytes]]:
        frames: list[tuple[int, bytes]] = []
        while len(self._received) >= 8:
            size = int.from_bytes(self._received[4:8], "big")
            if len(self._received) < 8 + size:
                break
            frames.append((self._received[0], bytes(self._received[8 : 8 + size])))
            del self._received[: 8 + size]
        return frames
