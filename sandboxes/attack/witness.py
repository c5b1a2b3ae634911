"""What attacks aim at on the host, and whether it was reached: listeners, a process, files, a variable.

All are open on purpose: only the sandbox stands between them and the code inside.
"""

from __future__ import annotations

import os
import secrets
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Self, cast

SECRET_VARIABLE = "MOLT_ATTACK_SECRET"
REWARD = "0.0"


class Witness:
    """Stands from `with` to its end; `faults` tells what an attack did."""

    def __init__(self) -> None:
        self.secret = f"secret-{secrets.token_hex(12)}"
        self.hits: dict[str, int] = {}
        """Listener -> connections and datagrams that came."""
        self.folder = Path(tempfile.mkdtemp(prefix="molt-attack-", dir="/tmp"))
        self._stopped = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._listeners: list[socket.socket] = []

    def __enter__(self) -> Self:
        self.folder.chmod(0o755)
        self._open(self.folder / "answers" / "hidden.txt", self.secret, 0o644)
        self._open(self.folder / "rewards" / "reward.txt", REWARD, 0o666)
        os.environ[SECRET_VARIABLE] = self.secret
        self._victim = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self._tcp = self._listen("tcp", socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0))
        self._udp = self._listen("udp", socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0))
        self._listen("unix", socket.AF_UNIX, socket.SOCK_STREAM, str(self.folder / "socket"))
        self._listen("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.folder.name)
        (self.folder / "socket").chmod(0o777)
        self._thread = threading.Thread(target=self._serve, name="attack-witness")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join(10)
        self._selector.close()
        for listener in self._listeners:
            listener.close()
        self._victim.kill()
        self._victim.wait(10)
        os.environ.pop(SECRET_VARIABLE, None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def facts(self) -> dict[str, object]:
        """What a snippet is told about the host: where things are, never the secret itself."""
        engine = os.environ.get("DOCKER_HOST", "").removeprefix("unix://")
        return {
            "secret_path": str(self.folder / "answers" / "hidden.txt"),
            "secret_variable": SECRET_VARIABLE,
            "reward_path": str(self.folder / "rewards" / "reward.txt"),
            "victim_pid": self._victim.pid,
            "driver_pid": os.getpid(),
            "tcp_port": self._tcp.getsockname()[1],
            "udp_port": self._udp.getsockname()[1],
            "unix_path": str(self.folder / "socket"),
            "abstract_name": self.folder.name,
            "addresses": _addresses(),
            "engine_sockets": [engine] if engine.startswith("/") else [],
        }

    def faults(self) -> list[str]:
        """What an attack has done to the host so far, in words; then what can be mended is mended."""
        faults = [f"the host's {name} listener was reached" for name in self.hits]
        self.hits.clear()
        if self._victim.poll() is not None:
            faults.append("the host's process was killed")
        for name, text in (("answers/hidden.txt", self.secret), ("rewards/reward.txt", REWARD)):
            path = self.folder / name
            if not path.exists() or path.read_text() != text:
                faults.append(f"the host's file {name} was changed")
                self._open(path, text, 0o666 if text == REWARD else 0o644)
        return faults

    def _open(self, path: Path, text: str, mode: int) -> None:
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o777 if text == REWARD else 0o755)
        path.write_text(text)
        path.chmod(mode)

    def _listen(self, name: str, family: int, kind: int, address: tuple[str, int] | str) -> socket.socket:
        listener = socket.socket(family, kind)
        listener.bind(address)
        if kind == socket.SOCK_STREAM:
            listener.listen()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, name)
        self._listeners.append(listener)
        return listener

    def _serve(self) -> None:
        while not self._stopped.is_set():
            for key, _ in self._selector.select(0.1):
                listener = cast(socket.socket, key.fileobj)
                if listener.type == socket.SOCK_STREAM:
                    listener.accept()[0].close()
                else:
                    listener.recv(4096)
                self.hits[key.data] = self.hits.get(key.data, 0) + 1


def _addresses() -> list[str]:
    """Addresses of this host beside the loopback; the outer one is asked for without sending anything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return [str(probe.getsockname()[0])]
        except OSError:
            return []
