"""A Docker Engine for one run: in, an empty folder (root needed); out, the address of its socket.

For machines without a running engine, as in CI: no network, no firewall rules, all files in the folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sandboxes.base import SandboxError, SandboxUnavailable

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
OFF = ("iptables", "ip6tables", "ip-forward", "ip-masq", "userland-proxy")


@contextmanager
def running_engine(folder: Path) -> Generator[str]:
    """Start `dockerd` with all its files in `folder`, give its address, stop it; else SandboxUnavailable."""
    program = shutil.which("dockerd")
    if program is None or os.geteuid() != 0:
        raise SandboxUnavailable(
            f"no engine can be started as uid {os.geteuid()} with dockerd {program or 'not installed'}; "
            "as root: `apt-get install --no-install-recommends docker.io`"
        )
    folder.mkdir(parents=True, exist_ok=True)
    socket = folder / "docker.sock"
    argv = ["setpriv", "--pdeathsig", "TERM", program]  # it ends with the thread that starts it
    argv += [f"--host=unix://{socket}", "--storage-driver=overlay2", "--bridge=none"]
    argv += [
        f"--data-root={folder / 'data'}",
        f"--exec-root={folder / 'exec'}",
        f"--pidfile={folder / 'pid'}",
    ]
    argv += [f"--{name}=false" for name in OFF]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        end = time.monotonic() + START_TIMEOUT_S
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > end:
                tail = (folder / "log").read_text(errors="replace")[-800:]
                raise SandboxError(
                    f"dockerd was not ready within {START_TIMEOUT_S:g} s; its log ends:\n{tail}"
                )
            time.sleep(0.05)
        yield f"unix://{socket}"
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_TIMEOUT_S)


def run_beside_engine(argv: Sequence[str]) -> int:
    """Run a command while an engine with the image is up and DOCKER_HOST names it; out: the exit code."""
    if not argv:
        raise ValueError("engine: no command; give one, e.g. `engine python -m sandboxes attack docker`")
    with (
        tempfile.TemporaryDirectory(prefix="molt-engine-", ignore_cleanup_errors=True) as folder,
        running_engine(Path(folder)) as address,
    ):
        environment = {**os.environ, "DOCKER_HOST": address}
        made = subprocess.run([sys.executable, "-m", "sandboxes", "image"], env=environment, check=False)
        return made.returncode or subprocess.run(list(argv), env=environment, check=False).returncode
