"""Ends what a killed driver leaves: engines that were starting, agents of a Ray that it had started.

In: the driver's process, watched from another one, and a pipe that closes with it. Out: no process that was
seen below the driver runs. A driver that lives ends its own. `python -m molt_train.reaper PID`
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

LOOK_EVERY_S = 1.0
GRACE_S = 3.0
"""For those that end by themselves."""
PATIENCE_S = 10.0
Seen = dict[int, str]
"""Processes by number, with their starts in ticks since boot: together never used again."""


@contextmanager
def reaping() -> Generator[None]:
    """Whatever is started in the block ends with this process, should it be killed."""
    command = [sys.executable, "-m", "molt_train.reaper", str(os.getpid())]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    reaper = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, start_new_session=True)
    assert reaper.stdin is not None
    try:
        yield
    finally:
        reaper.stdin.close()
        reaper.wait(PATIENCE_S)


def below(roots: Seen) -> Seen:
    """All living processes below those that still live."""
    parents: dict[int, int] = {}
    starts: Seen = {}
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            state, parent, *rest = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            if state not in "ZX":
                parents[int(entry)], starts[int(entry)] = int(parent), rest[17]
    found: Seen = {}
    waiting = [pid for pid, start in roots.items() if starts.get(pid) == start]
    while waiting:
        root = waiting.pop()
        children = [pid for pid, parent in parents.items() if parent == root and pid not in found]
        found |= {pid: starts[pid] for pid in children}
        waiting += children
    return found


def living(seen: Seen) -> Seen:
    """Those of them that have not ended."""
    alive: Seen = {}
    for pid, start in seen.items():
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if fields[0] not in "ZX" and fields[19] == start:
                alive[pid] = start
    return alive


def main(driver: int) -> None:
    """Look at what runs below the driver until it ends; then end that."""
    fields = Path(f"/proc/{driver}/stat").read_text().rpartition(")")[2].split()
    root, seen = {driver: fields[19]}, Seen()
    while not select.select([sys.stdin], [], [], LOOK_EVERY_S)[0]:
        seen = living(seen) | below(root)
    if living(root):
        return
    seen |= below(seen)
    seen.pop(os.getpid(), None)
    end = time.monotonic() + GRACE_S
    while (seen := living(seen)) and time.monotonic() < end:
        time.sleep(0.1)
    end = time.monotonic() + PATIENCE_S
    while (seen := living(seen)) and time.monotonic() < end:
        for pid in seen:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
