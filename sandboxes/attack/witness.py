"""What attacks aim at on the host, and whether it was reached: listeners, a process, files, a variable.

All are open on purpose: only the sandbox stands between them and the code inside.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Self

SECRET_VARIABLE = "MOLT_ATTACK_SECRET"
PREFIX = "molt-attack-"
REWARD = "0.0"


class Witness:
    """Stands from `with` to its end; `faults` tells what an attack did."""

    def __init__(self) -> None:
        self.secret = f"secret-{secrets.token_hex(12)}"
        self._stack = ExitStack()
        self._listeners: dict[str, socket.socket] = {}

    def __enter__(self) -> Self:
        for stale in Path("/tmp").glob(f"{PREFIX}*"):  # of a driver that was killed
            if not Path("/proc", stale.name.split("-")[2]).exists():
                shutil.rmtree(stale, ignore_errors=True)
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir="/tmp"))
        self._stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._folder.chmod(0o755)
        self._files = {
            self._folder / "answers" / "hidden.txt": (self.secret, 0o644),
            self._folder / "rewards" / "reward.txt": (REWARD, 0o666),
        }
        for path in self._files:
            self._write(path)
        os.environ[SECRET_VARIABLE] = self.secret
        self._stack.callback(os.environ.pop, SECRET_VARIABLE)
        code = "import sys; sys.stdin.read()"
        self._victim = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
        self._stack.callback(self._victim.communicate)
        self._listen("tcp", socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0))
        self._listen("udp", socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0))
        self._listen("unix", socket.AF_UNIX, socket.SOCK_STREAM, str(self._folder / "socket"))
        self._listen("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self._folder.name)
        (self._folder / "socket").chmod(0o777)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def facts(self) -> dict[str, object]:
        """What a snippet is told about the host: where things are, never the secret itself."""
        hidden, reward = map(str, self._files)
        return {
            "secret_path": hidden,
            "secret_variable": SECRET_VARIABLE,
            "reward_path": reward,
            "victim_pid": self._victim.pid,
            "driver_pid": os.getpid(),
            "tcp_port": self._listeners["tcp"].getsockname()[1],
            "udp_port": self._listeners["udp"].getsockname()[1],
            "unix_path": str(self._folder / "socket"),
            "abstract_name": self._folder.name,
            "addresses": _addresses(),
            "engine_sockets": [os.environ.get("DOCKER_HOST", "").removeprefix("unix://") or "/none"],
        }

    def faults(self) -> list[str]:
        """What an attack has done to the host so far, in words; files are then mended."""
        faults = [
            f"the host's {name} listener was reached"
            for name, listener in self._listeners.items()
            if _was_reached(listener)
        ]
        if self._victim.poll() is not None:
            faults.append("the host's process was killed")
        for path, (text, _) in self._files.items():
            if not path.exists() or path.read_text() != text:
                faults.append(f"the host's file {path.name} was changed")
                self._write(path)
        return faults

    def _write(self, path: Path) -> None:
        text, mode = self._files[path]
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o777 if text == REWARD else 0o755)
        path.write_text(text)
        path.chmod(mode)

    def _listen(self, name: str, family: int, kind: int, address: tuple[str, int] | str) -> None:
        listener = self._stack.enter_context(socket.socket(family, kind))
        listener.bind(address)
        if kind == socket.SOCK_STREAM:
            listener.listen(64)
        listener.setblocking(False)
        self._listeners[name] = listener


def _was_reached(listener: socket.socket) -> bool:
    """Takes all that waits: a connection stands in the queue also when its other end is gone."""
    num_hits = 0
    while True:
        try:
            if listener.type == socket.SOCK_STREAM:
                listener.accept()[0].close()
            else:
                listener.recv(4096)
            num_hits += 1
        except BlockingIOError:
            return num_hits > 0


def _addresses() -> list[str]:
    """This host's outer address, asked for without sending anything; none without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return [str(probe.getsockname()[0])]
        except OSError:
            return []
