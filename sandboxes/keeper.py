"""The driver's side of the keeper: in, sandboxes to open and calls to make; out, descriptors and reports.

A process has one keeper, shared by its open sandboxes: the first starts it, the last one closed ends it. When
the driver is killed, the keeper notices, kills what runs and ends.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from sandboxes.base import SandboxError, SandboxUnavailable

ANSWER_TIMEOUT_S = 20.0
"""The keeper answers in milliseconds; at this it is taken for broken."""

_lock = threading.Lock()
_shared: dict[int, Keeper] = {}
"""Pid of the driver -> its keeper: a forked copy of the driver gets one of its own."""


def find_interpreter() -> str:
    """The Python that runs inside: the one that this environment was made from."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    interpreter = Path(sys.base_prefix, "bin", name)
    if not interpreter.exists():
        raise SandboxUnavailable(f"no {name} in {interpreter.parent}; use a Python installed as usual")
    return str(interpreter)


class KeeperGone(SandboxError):
    """The keeper or a sandbox's starter has ended, and with it the calls."""


@dataclass(frozen=True)
class Report:
    """What is known of a call."""

    connection: socket.socket
    """Where its lines come from."""
    call: int
    """Its number, to kill it by."""

    def receive(self) -> dict[str, Any]:
        """What has come by now, all lines together; {"gone": True} when no more comes."""
        try:
            text = self.connection.recv(65536, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return {}
        except ConnectionResetError:
            return {"gone": True}
        if not text:
            return {"gone": True}
        return {key: value for line in text.splitlines() for key, value in json.loads(line).items()}


class Keeper:
    """One running keeper."""

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self._sandboxes = count()
        self.num_users = 0
        self.base: str = setup["base"]
        """Its folder of mounts: `root`, and one per sandbox by its number."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = Path(__file__).with_name("keeper_program.py")
        with theirs:
            self._process = subprocess.Popen(
                [find_interpreter(), "-I", str(program), str(os.getpid()), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={"PATH": os.defpath, "LANG": "C.UTF-8"},
                cwd="/",
                umask=0o022,
                start_new_session=True,
            )
        self._control = ours
        ours.settimeout(ANSWER_TIMEOUT_S)
        try:
            self._ask("setup", 0, setup)
        except SandboxError as error:
            self.stop()
            raise SandboxUnavailable(
                f"a sandbox cannot be set up on this machine ({error}); run as root outside of a container, "
                "or in one with CAP_SYS_ADMIN (docker run --privileged), or allow user namespaces"
            ) from error

    def open(self, details: Mapping[str, Any]) -> Starter:
        """Mount a new sandbox's files and fork the process that makes its calls."""
        number = next(self._sandboxes)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                (folder,) = self._ask("open", number, details, [theirs.fileno()])
        except SandboxError:
            ours.close()
            self.close(number)
            raise
        return Starter(ours, number, folder)

    def close(self, sandbox: int) -> None:
        """Kill a sandbox's calls and drop its files; they are gone already when the keeper is."""
        if self.alive:
            self._ask("close", sandbox, {})

    def stop(self) -> None:
        """End the keeper and wait for it."""
        self._control.close()
        try:
            self._process.wait(ANSWER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(ANSWER_TIMEOUT_S)

    def _ask(
        self, op: str, sandbox: int, details: Mapping[str, Any], descriptors: Sequence[int] = ()
    ) -> list[int]:
        """Send a request and wait for its answer; the descriptors that came with it."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                head = {"op": op, "sandbox": sandbox}
                _send(self._control, head, details, [theirs.fileno(), *descriptors])
            ours.settimeout(ANSWER_TIMEOUT_S)
            try:
                text, received, _, _ = socket.recv_fds(ours, 65536, 1, socket.MSG_CMSG_CLOEXEC)
            except (TimeoutError, ConnectionResetError):
                text, received = b"", []
        if not text:
            raise SandboxError(f"the keeper of the sandboxes did not answer ({op}); open a new sandbox")
        if problem := json.loads(text).get("error"):
            raise SandboxError(problem)
        return received

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None


class Starter:
    """The driver's end of the process that makes one sandbox's calls, a member of its control group."""

    def __init__(self, control: socket.socket, number: int, folder: int) -> None:
        self._control = control
        self._calls = count()
        self.number = number
        """The sandbox's."""
        self.folder = folder
        """A descriptor of its work folder."""

    def spawn(self, details: Mapping[str, Any], descriptors: Sequence[int]) -> Report:
        """Start a call on its standard streams (and the descriptor of a snippet's code, a fourth)."""
        call = next(self._calls)
        ours, theirs = socket.socketpair()
        head = {"op": "spawn", "call": call, "sandbox": self.number, "is_snippet": len(descriptors) > 3}
        with theirs:
            _send(self._control, head, details, [theirs.fileno(), *descriptors])
        return Report(ours, call)

    def kill(self, call: int) -> None:
        """Kill a call's processes; its report tells when they are gone. Without the starter they are."""
        with suppress(KeeperGone):
            _send(self._control, {"op": "kill", "call": call}, {}, [])

    def close(self) -> None:
        """Close the driver's ends: the starter kills what runs and ends."""
        self._control.close()
        os.close(self.folder)


def _send(
    control: socket.socket, head: Mapping[str, Any], details: Mapping[str, Any], descriptors: Sequence[int]
) -> None:
    with memory_file(json.dumps(details).encode()) as file:
        try:
            socket.send_fds(control, [json.dumps(head).encode()], [file, *descriptors])
        except OSError as error:
            raise KeeperGone(f"the keeper is gone ({error}); open a new sandbox") from error


@contextmanager
def memory_file(data: bytes) -> Generator[int]:
    """A descriptor to read `data` from."""
    with open(os.memfd_create("molt", os.MFD_CLOEXEC), "r+b") as file:
        file.write(data)
        file.seek(0)
        yield file.fileno()


def acquire_keeper(describe_root: Callable[[], Mapping[str, Any]]) -> Keeper:
    """This process's keeper, started when there is none; `release_keeper` it afterwards."""
    with _lock:
        keeper = _shared.get(os.getpid())
        if keeper is None or not keeper.alive:
            _shared.clear()
            keeper = _shared[os.getpid()] = Keeper(describe_root())
        keeper.num_users += 1
        return keeper


def release_keeper(keeper: Keeper) -> None:
    """The last user's release ends it."""
    with _lock:
        keeper.num_users -= 1
        if keeper.num_users == 0:
            if _shared.get(os.getpid()) is keeper:
                del _shared[os.getpid()]
            keeper.stop()
