"""One worker process and its sockets. In: how many environments it holds. Out: a socket for each."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping

SECRET = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
"""Variables with such names do not reach an environment."""
STOP_TIMEOUT_S = 5.0


class WorkerProcess:
    """Starts at once; `kill()` ends it, and so does the end of this process, however that comes.

    Args:
        num_envs: environments, each with a thread and a socket of its own.
    """

    def __init__(self, num_envs: int) -> None:
        self._lock, self._ending = threading.Lock(), ""
        pairs = [socket.socketpair() for _ in range(num_envs)]
        self.sockets = [ours for ours, _ in pairs]
        lifeline, self._lifeline = os.pipe()
        passed = [lifeline, *(theirs.fileno() for _, theirs in pairs)]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by kill()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "molt_envs.workers.child", *map(str, passed)],
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=worker_environment(os.environ),
            )
        finally:
            os.close(lifeline)
            for _, theirs in pairs:
                theirs.close()
        self.pid = self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def kill(self) -> str:
        """End it and free what it held; idempotent. Gives its exit status and the last line of its errors."""
        with self._lock:
            if not self._ending:
                self._process.kill()
                status = self._process.wait(STOP_TIMEOUT_S)
                self._errors.seek(0)
                lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
                self._errors.close()
                os.close(self._lifeline)
                for sock in self.sockets:
                    sock.close()
                self._ending = f"worker {self.pid} ended with status {status}" + "".join(
                    f": {line}" for line in lines[-1:]
                )
            return self._ending


def worker_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables without secrets, with one thread for each process and this process's module path."""
    kept = {name: value for name, value in variables.items() if not SECRET.search(name)}
    return kept | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
