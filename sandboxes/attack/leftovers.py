"""What a driver of sandboxes left on the host: in, its process and markers; out, what is there still.

The machine may be shared: only what can be laid at that driver's door counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")


def processes_named(prefix: str) -> list[str]:
    """Living processes whose name begins so; attacks name theirs and all that they fork."""
    return [
        f"process {pid} ({name})"
        for pid, name, _, state in _processes()
        if name.startswith(prefix) and state not in "ZX"
    ]


def descendants(root: int) -> set[tuple[int, str]]:
    """All processes below one: their numbers and starts, which together are never used again."""
    children: dict[int, list[int]] = {}
    for pid, _, parent, _ in _processes():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return {(pid, start) for pid in found if (start := _start(pid))}


def still_alive(processes: set[tuple[int, str]]) -> list[str]:
    """Those of them that have not ended."""
    return [f"process {pid}" for pid, start in sorted(processes) if _start(pid) == start]


def mounts() -> set[str]:
    """Mount points that this process sees."""
    return {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def cgroups_of(pid: int) -> list[str]:
    """Control groups that carry that driver's number in their names."""
    return [
        f"control group {folder}"
        for folder, _, _ in os.walk(_CGROUPS)
        if f"-{pid}-" in os.path.basename(folder)
    ]


def files_named(prefix: str) -> list[str]:
    """Files in folders that all share."""
    return [
        f"file {path}"
        for folder in map(Path, _SHARED_FOLDERS)
        if folder.is_dir()
        for path in folder.glob(prefix + "*")
    ]


def settle(find: Callable[[], list[str]], timeout_s: float) -> list[str]:
    """What `find` still finds after waiting up to `timeout_s` for it to go."""
    end = time.monotonic() + timeout_s
    while (left := find()) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def _processes() -> Iterator[tuple[int, str, int, str]]:
    """Number, name, parent and state of each."""
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and (text := _stat(int(entry))):
            head, _, tail = text.rpartition(")")
            state, parent = tail.split()[:2]
            yield int(entry), head.partition("(")[2], int(parent), state


def _start(pid: int) -> str:
    """When it began, in ticks since boot; empty when it has ended."""
    fields = _stat(pid).rpartition(")")[2].split()
    return fields[19] if fields and fields[0] not in "ZX" else ""


def _stat(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
