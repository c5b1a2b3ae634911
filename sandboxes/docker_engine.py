"""What the docker backend needs of the Docker Engine: in, its address; out, the SDK's client and raw streams.

The SDK hands out a stream's socket after it has read ahead from it; a stream of our own loses no byte.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandboxes.base import SandboxError, SandboxUnavailable

ADDRESS_VARIABLE = "DOCKER_HOST"
DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
LABEL = "molt-sandbox.owner"
"""Of a container; names its driver's process."""
TIMEOUT_S = 60
REMOVE_TIMEOUT_S = 10
STDOUT, STDERR = 1, 2
_CHUNK_BYTES = 65536


@dataclass(frozen=True)
class Engine:
    """A reachable engine."""

    api: Any
    """The SDK's `docker.APIClient`."""
    address: str
    """`unix://` and the path of its socket."""

    def owned(self) -> list[str]:
        """Ids of the containers of this process, the ended ones too."""
        found = self.api.containers(all=True, filters={"label": f"{LABEL}={owner()}"})
        return [container["Id"] for container in found]

    def remove_stale(self) -> None:
        """Remove containers whose driver is gone; those of other pid namespaces cannot be judged."""
        for container in self.api.containers(all=True, filters={"label": LABEL}):
            namespace, pid, start = container["Labels"][LABEL].split(":")
            if namespace == _pid_namespace() and _start_ticks(int(pid)) != start:
                self.remove(container["Id"])

    def remove(self, container_id: str) -> None:
        """Kill and remove a container; one that is gone or going already is no error."""
        from docker.errors import APIError

        end = time.monotonic() + REMOVE_TIMEOUT_S
        while True:
            try:
                self.api.remove_container(container_id, force=True, v=True)
                return
            except APIError as error:
                if error.status_code in (404, 409):
                    return
                # One that ends by itself at this moment cannot be killed, and the engine calls that a fault.
                if time.monotonic() > end:
                    raise SandboxError(
                        f"container {container_id} was not removed ({error}); do it by hand"
                    ) from error
                time.sleep(0.05)


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
    return Engine(api, address)


def owner() -> str:
    """This process as others can check it: its pid namespace, number and start."""
    return f"{_pid_namespace()}:{os.getpid()}:{_start_ticks(os.getpid())}"


def _start_ticks(pid: int) -> str:
    """When a process started, in ticks since boot; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _pid_namespace() -> str:
    return str(os.stat("/proc/self/ns/pid").st_ino)


class EngineStream:
    """One connection that the engine turned into a two-way stream: of an exec, or of a container's stdin."""

    def __init__(self, address: str, path: str, body: Mapping[str, object]) -> None:
        self._unsent = bytearray()
        self._received = bytearray()
        self._ends_input = False
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        try:
            self._socket.connect(address.removeprefix("unix://"))
            self._upgrade(path, json.dumps(body).encode())
        except (OSError, SandboxError) as error:
            self._socket.close()
            raise SandboxError(f"the engine at {address} refused {path}: {error}; try again") from error

    def _upgrade(self, path: str, body: bytes) -> None:
        lines = f"POST {path} HTTP/1.1\r\nHost: engine\r\nContent-Type: application/json\r\n"
        lines += f"Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: {len(body)}\r\n\r\n"
        self._socket.sendall(lines.encode() + body)
        answer = b""
        while b"\r\n\r\n" not in answer and (chunk := self._socket.recv(_CHUNK_BYTES)):
            answer += chunk
        head, _, rest = answer.partition(b"\r\n\r\n")
        if head.split(b" ")[1:2] not in ([b"101"], [b"200"]):
            raise SandboxError(answer[:400].decode(errors="replace"))
        self._received += rest
        self._socket.setblocking(False)

    def send(self, data: bytes, *, last: bool = False) -> None:
        """Queue bytes for the other side's stdin, which `exchange` writes; `last` ends it after them."""
        self._unsent += data
        self._ends_input = self._ends_input or last

    @property
    def has_unsent(self) -> bool:
        """Whether `exchange` has yet to write."""
        return bool(self._unsent)

    def exchange(self, end: float) -> list[tuple[int, bytes]] | None:
        """Write and read what can be by `end` (monotonic); TimeoutError when nothing moved by then.

        Out: frames of (STDOUT or STDERR, bytes), possibly none; None when the stream has ended.
        """
        if frames := self._frames():
            return frames
        poll = select.poll()
        poll.register(
            self._socket, select.POLLIN | (select.POLLOUT if self._unsent or self._ends_input else 0)
        )
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
            if self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]
            else:
                self._ends_input = False
                self._socket.shutdown(socket.SHUT_WR)
        except OSError:  # the other side reads no more: what it wrote still counts
            self._unsent.clear()
            self._ends_input = False

    def _frames(self) -> list[tuple[int, bytes]]:
        frames: list[tuple[int, bytes]] = []
        while len(self._received) >= (size := 8 + int.from_bytes(self._received[4:8], "big")):
            frames.append((self._received[0], bytes(self._received[8:size])))
            del self._received[:size]
        return frames
