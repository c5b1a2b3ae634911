"""Control groups, version 1 and 2: in, `Limits`; out, a group that bounds and kills all of one sandbox.

A group's name is its driver's pid namespace, pid and start time, so that groups of a dead driver are found
and removed at the next start. Version 2 is tested on a fake tree where no host has its controllers.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from sandboxes.base import SandboxError, SandboxUnavailable
from sandboxes.limits import Limits

_PREFIX = "molt-sandbox"
_CONTROLLERS = ("memory", "pids")
_KILL_TIMEOUT_S = 10.0
_numbers = count()


@dataclass(frozen=True)
class Hierarchy:
    """Where groups are made."""

    version: int
    """1 or 2."""
    parents: tuple[Path, ...]
    """Folders that get a group each: of the memory and the pids controller (1), or the one folder (2)."""


def find_hierarchy(proc: Path = Path("/proc/self")) -> Hierarchy:
    """Where this process may make groups; SandboxUnavailable, with the reason, when nowhere."""
    own_paths: dict[str, str] = {}
    for line in (proc / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own_paths |= dict.fromkeys(controllers.split(","), path)
    version_1, version_2 = dict[str, Path](), list[tuple[Path, Path]]()
    for line in (proc / "mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        (root, point), (kind, _, options) = before.split()[3:5], after.split(" ", 2)
        if kind == "cgroup2":
            version_2.append((Path(point), _own_folder(root, point, own_paths.get("", "/"))))
        for name in _CONTROLLERS:
            if kind == "cgroup" and name in options.split(","):
                version_1[name] = _own_folder(root, point, own_paths.get(name, "/"))
    if version_1:
        return _version_1(version_1)
    if version_2:
        return _version_2(*version_2[0])
    raise SandboxUnavailable("no control groups are mounted; mount them (in Docker: --privileged)")


def _own_folder(root: str, point: str, path: str) -> Path:
    """This process's folder; the mount point when its path lies outside of the mount (a container)."""
    relative = path.removeprefix(root.rstrip("/")).lstrip("/")
    own = Path(point, relative)
    return own if ".." not in relative and own.is_dir() else Path(point)


def _version_1(folders: dict[str, Path]) -> Hierarchy:
    for name in _CONTROLLERS:
        if name not in folders:
            raise SandboxUnavailable(f"the {name} controller of cgroups is not mounted; mount it")
        if not os.access(folders[name], os.W_OK):
            raise SandboxUnavailable(f"{folders[name]} is not writable; run as root, or have it delegated")
    return Hierarchy(1, tuple(dict.fromkeys(folders[name] for name in _CONTROLLERS)))


def _version_2(top: Path, own: Path) -> Hierarchy:
    """The nearest folder, from this process's own upwards, whose groups can have both controllers."""
    problems: list[str] = []
    for folder in (own, *own.parents):
        if not folder.is_relative_to(top):
            break
        try:
            _enable_controllers(folder)
            return Hierarchy(2, (folder,))
        except OSError as error:
            problems.append(f"{folder}: {error.strerror or error}")
    tried = "; ".join(problems)
    raise SandboxUnavailable(f"no control group takes limits ({tried}); run as root on the host")


def _enable_controllers(folder: Path) -> None:
    available = (folder / "cgroup.controllers").read_text().split()
    if lacking := [name for name in _CONTROLLERS if name not in available]:
        raise OSError(f"has no {' and no '.join(lacking)} controller")
    if not os.access(folder, os.W_OK):
        raise OSError("is not writable")
    enabled = (folder / "cgroup.subtree_control").read_text().split()
    if not set(_CONTROLLERS) <= set(enabled):
        # The kernel answers EBUSY where the folder itself holds processes: its parent is tried next.
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _CONTROLLERS))


@dataclass(frozen=True)
class ControlGroup:
    """The group of one sandbox."""

    version: int
    """1 or 2."""
    folders: tuple[Path, ...]
    """Its folder in each hierarchy, the memory controller's first."""

    @classmethod
    def create(cls, hierarchy: Hierarchy, limits: Limits) -> ControlGroup:
        """A new group with the limits set; SandboxError when the kernel refuses one."""
        name = f"{_label(os.getpid())}-{next(_numbers)}"
        group = cls(hierarchy.version, tuple(parent / name for parent in hierarchy.parents))
        try:
            for folder in group.folders:
                folder.mkdir()
            group._set_limits(limits)
        except OSError as error:
            group.remove()
            raise SandboxError(f"the control group {name} cannot be set up ({error})") from error
        return group

    def _set_limits(self, limits: Limits) -> None:
        memory, pids = self.folders[0], self.folders[-1]
        total_bytes = str(limits.memory_bytes + limits.disk_bytes)
        (pids / "pids.max").write_text(str(limits.num_processes + 1))  # The starter of its calls is in it.
        if self.version == 2:
            (memory / "memory.max").write_text(total_bytes)
            _write_if_there(memory / "memory.swap.max", "0")
        else:
            (memory / "memory.limit_in_bytes").write_text(total_bytes)
            _write_if_there(memory / "memory.memsw.limit_in_bytes", total_bytes)

    @property
    def procs_files(self) -> tuple[Path, ...]:
        """A process joins by writing 0 to each."""
        return tuple(folder / "cgroup.procs" for folder in self.folders)

    def count_oom_kills(self) -> int:
        """Processes of this group that the kernel killed at the memory limit so far; 0 once removed."""
        events = self.folders[0] / ("memory.events" if self.version == 2 else "memory.oom_control")
        counts = dict(line.split() for line in _read_if_there(events).splitlines())
        return int(counts.get("oom_kill", 0))

    def kill(self) -> None:
        """Kill every process and wait until none is left; SandboxError when that takes over 10 s."""
        kill_file = self.folders[0] / "cgroup.kill"
        deadline_s = time.monotonic() + _KILL_TIMEOUT_S
        while pids := self._pids():
            if self.version == 2:
                _write_if_there(kill_file, "1")
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline_s:
                raise SandboxError(f"processes {sorted(pids)} outlive SIGKILL in {self.folders}")
            time.sleep(0.002)

    def _pids(self) -> set[int]:
        """A process that this pid namespace cannot see is told as 0, and 0 would mean ourselves."""
        return {pid for file in self.procs_files for pid in map(int, _read_if_there(file).split()) if pid}

    def remove(self) -> None:
        """Remove the folders once the last process is gone; SandboxError when one stays for over 10 s."""
        deadline_s = time.monotonic() + _KILL_TIMEOUT_S
        for folder in self.folders:
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError as error:
                    if time.monotonic() > deadline_s:
                        raise SandboxError(f"{folder} cannot be removed: {error}") from error
                    time.sleep(0.002)


def remove_stale_groups(hierarchy: Hierarchy) -> int:
    """Kill and remove what drivers that are dead by now left behind; how many groups."""
    names = {path.name for parent in hierarchy.parents for path in parent.glob(f"{_PREFIX}-*")}
    stale = [name for name in names if _is_stale(name)]
    for name in stale:
        group = ControlGroup(hierarchy.version, tuple(parent / name for parent in hierarchy.parents))
        group.kill()
        group.remove()
    return len(stale)


def _label(pid: int) -> str:
    namespace = os.stat("/proc/self/ns/pid").st_ino
    return f"{_PREFIX}-{namespace}-{pid}-{_start_time(pid)}"


def _start_time(pid: int) -> str:
    """Tells a process from a later one with its pid; empty when there is no such process."""
    stat = _read_if_there(Path(f"/proc/{pid}/stat"))
    return stat.rpartition(")")[2].split()[19] if stat else ""


def _is_stale(name: str) -> bool:
    """Only a name of our own pid namespace can be judged."""
    label = name.rpartition("-")[0]
    _, _, rest = label.partition(f"{_PREFIX}-{os.stat('/proc/self/ns/pid').st_ino}-")
    pid = rest.partition("-")[0]
    return pid.isdecimal() and _label(int(pid)) != label


def _write_if_there(file: Path, text: str) -> None:
    """Without creating it: an older kernel lacks some files, and another driver may remove a stale group."""
    if file.exists():
        file.write_text(text)


def _read_if_there(file: Path) -> str:
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
