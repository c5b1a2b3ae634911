"""One hardened container: in, limits and the engine; out, commands run in it, and its sure removal."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sandboxes import docker_inside as inside
from sandboxes.base import WORK_FOLDER, SandboxError
from sandboxes.docker_engine import STDOUT, Engine, EngineStream
from sandboxes.limits import Limits

LABEL = "molt-sandbox.owner"
"""Its value names the driver's process; a container whose driver is gone is removed at the next start."""
PROFILE = Path(__file__).parent / "images" / "seccomp.json"
FIRST_INSIDE_UID = 1 << 20
"""A container's code runs as a user id drawn from here up: limits per user are limits per container."""
SPARE_PROCESSES = 16
"""On top of the limit, which leave room for the command that ends all others."""
SHARED_MEMORY_BYTES = 8 * 1024 * 1024
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": WORK_FOLDER, "USER": "agent", "LANG": "C.UTF-8"}


@dataclass(frozen=True)
class Output:
    """What a command in the container wrote, and how it ended."""

    exit_code: int | None
    """None: it was still running."""
    stdout: bytes
    stderr: bytes
    timed_out: bool
    cut: bool
    """A stream went over the limit, and reading stopped."""


def owner() -> str:
    """This process as others can check it: its number, its start and its pid namespace."""
    return f"{os.getpid()}:{_start_ticks(os.getpid())}:{_pid_namespace()}"


def remove_stale(engine: Engine) -> int:
    """Remove containers whose driver is gone; out: how many."""
    stale = 0
    for found in engine.api.containers(all=True, filters={"label": LABEL}):
        labels = cast(dict[str, str], found["Labels"])
        pid, ticks, namespace = labels[LABEL].split(":")
        if namespace == _pid_namespace() and _start_ticks(int(pid)) != ticks:
            remove(engine, str(found["Id"]))
            stale += 1
    return stale


def list_owned(engine: Engine) -> list[str]:
    """Ids of the containers of this process, the ended ones too."""
    found = engine.api.containers(all=True, filters={"label": f"{LABEL}={owner()}"})
    return [str(container["Id"]) for container in found]


def remove(engine: Engine, container_id: str) -> None:
    """Kill and remove a container; one that is gone or going already is no error."""
    from docker.errors import APIError

    try:
        engine.api.remove_container(container_id, force=True, v=True)
    except APIError as error:
        if error.status_code not in (404, 409):
            raise SandboxError(
                f"container {container_id[:12]} was not removed ({error}); remove it by hand"
            ) from error


class Container:
    """A running container without network, writable only in its work folder."""

    def __init__(self, engine: Engine, image: str, runtime: str | None, limits: Limits) -> None:
        self._engine = engine
        self._limits = limits
        uid = FIRST_INSIDE_UID + secrets.randbelow(1 << 29)
        self._user = f"{uid}:{uid}"
        options = _host_options(limits, uid) | ({"runtime": runtime} if runtime else {})
        self.container_id = engine.api.create_container(
            image,
            inside.FIRST_PROCESS,
            user="0:0",
            stdin_open=True,
            network_disabled=True,
            environment=ENVIRONMENT,
            labels={LABEL: owner()},
            host_config=engine.api.create_host_config(**options),
        )["Id"]
        try:
            path = f"/containers/{self.container_id}/attach?stream=1&stdin=1"
            self._lifeline = EngineStream(engine.address, path, {})
            engine.api.start(self.container_id)
        except BaseException:
            remove(engine, self.container_id)
            raise

    def execute(
        self, argv: Sequence[str], env: Mapping[str, str] | None = None, *, is_root: bool = False
    ) -> tuple[str, EngineStream]:
        """Start a command as the user inside, or as root; out: its id and its streams."""
        exec_id = self._engine.api.exec_create(
            self.container_id,
            list(argv),
            stdin=True,
            user="0:0" if is_root else self._user,
            workdir="/" if is_root else WORK_FOLDER,
            environment=ENVIRONMENT | dict(env or {}),
        )["Id"]
        stream = EngineStream(self._engine.address, f"/exec/{exec_id}/start", {"Detach": False, "Tty": False})
        return exec_id, stream

    def call(
        self,
        argv: Sequence[str],
        stdin: bytes,
        end: float,
        *,
        env: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        is_root: bool = False,
    ) -> Output:
        """Run a command until its streams close, `end` (monotonic) or `max_bytes` (default: the limit)."""
        most = self._limits.output_bytes if max_bytes is None else max_bytes
        kept = {STDOUT: bytearray(), STDOUT + 1: bytearray()}
        timed_out = cut = False
        exec_id, stream = self.execute(argv, env, is_root=is_root)
        try:
            stream.send(stdin, last=True)
            while not cut and (frames := stream.exchange(end)) is not None:
                for name, data in frames:
                    kept[name] += data
                    cut = cut or len(kept[name]) > most
        except TimeoutError:
            timed_out = True
        finally:
            stream.close()
        code = None if timed_out or cut else self._exit_code(exec_id, end)
        stdout, stderr = (bytes(data[:most]) for data in kept.values())
        return Output(exit_code=code, stdout=stdout, stderr=stderr, timed_out=timed_out, cut=cut)

    def remove(self) -> None:
        """Kill and remove it; idempotent."""
        self._lifeline.close()
        remove(self._engine, self.container_id)

    def _exit_code(self, exec_id: str, end: float) -> int | None:
        """The streams close a moment before the engine knows the exit code; None when it never did."""
        while True:
            state = self._engine.api.exec_inspect(exec_id)
            if not state["Running"]:
                return cast("int | None", state["ExitCode"])
            if time.monotonic() > end:
                return None
            time.sleep(0.005)


def _host_options(limits: Limits, uid: int) -> dict[str, object]:
    tmpfs = f"size={limits.disk_bytes},nr_inodes={limits.num_files},uid={uid},gid={uid},mode=0700"
    tmpfs += ",nosuid,nodev,exec"
    ulimits = {"cpu": limits.cpu_s, "fsize": limits.disk_bytes, "core": 0, "nofile": 1024}
    ulimits["nproc"] = limits.num_processes
    return {
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "cap_add": ["KILL"],  # for the root that ends what a call left; the user inside gets none
        "security_opt": ["no-new-privileges", f"seccomp={PROFILE.read_text()}"],
        "tmpfs": {WORK_FOLDER: tmpfs},
        "ipc_mode": "private",
        "shm_size": SHARED_MEMORY_BYTES,
        "pids_limit": limits.num_processes + SPARE_PROCESSES,
        "mem_limit": limits.memory_bytes + limits.disk_bytes,
        "memswap_limit": limits.memory_bytes + limits.disk_bytes,
        "nano_cpus": 1_000_000_000,
        "oom_score_adj": 500,
        "ulimits": [
            {"Name": name, "Soft": most, "Hard": most + (name == "cpu")} for name, most in ulimits.items()
        ],
        "log_config": {"Type": "none", "Config": {}},
        "auto_remove": True,
    }


def _start_ticks(pid: int) -> str:
    """When a process started, in ticks since boot; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _pid_namespace() -> str:
    return str(os.stat("/proc/self/ns/pid").st_ino)
