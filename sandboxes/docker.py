"""The docker backend: in, limits and code; out, results from one hardened container per sandbox.

Process 1 is root's, with no privilege but to kill, and reads its stdin until the driver's end of it closes:
a driver that dies takes its containers along. What a call leaves running is killed before it returns.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sandboxes.base import (
    WORK_FOLDER,
    Backend,
    Capabilities,
    ExecResult,
    ProcessEnded,
    SandboxError,
    SandboxFileError,
    SandboxUnavailable,
    Support,
)
from sandboxes.docker_engine import LABEL, STDERR, STDOUT, Engine, EngineStream, connect, owner
from sandboxes.files import split_path
from sandboxes.images.build import image_name
from sandboxes.limits import MIB, Limits

RUNTIME_VARIABLE = "MOLT_SANDBOX_RUNTIME"
"""Environment variable: the engine's runtime to use, e.g. runsc; default, the engine's own choice."""
PROFILE = Path(__file__).parent / "images" / "seccomp.json"
PROGRAMS = "/usr/lib/molt"
"""In the image: those that read and write files run as the code's user; that which kills, as root."""
FIRST_UID = 1 << 20
"""A container's code runs as a user id drawn from here up: limits per user are limits per container."""
SPARE_PROCESSES = 16
"""On top of the limit, which leave room for the command that ends all others."""
OWN_TIMEOUT_S = 15.0
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": WORK_FOLDER, "USER": "agent", "LANG": "C.UTF-8"}
FIRST_PROCESS = ["env", "--ignore-signal=CHLD", "cat"]
"""Lives until its stdin closes; ignoring CHLD, it leaves no zombies of the orphans that it inherits."""
COMMAND = ["/bin/sh", "-c", 'exec "$@"', "sh"]
"""Before a command: one that is missing is told as a shell tells it."""
ANNOUNCE = ["/bin/sh", "-c", 'echo $$; exec "$@"', "sh"]
"""Tells the process's number on its first line, then becomes the command."""
_CPU_TIME_UP, _PIPE_CLOSED, _KILLED = 128 + 24, 128 + 13, 128 + 9


def probe() -> Support:
    """What the engine here holds; SandboxUnavailable without an engine, its runtime or the image."""
    engine = connect()
    try:
        info = engine.api.info()
        runtime = os.environ.get(RUNTIME_VARIABLE)
        if runtime and runtime not in info["Runtimes"]:
            raise SandboxUnavailable(
                f"the engine has no runtime {runtime!r} ({RUNTIME_VARIABLE}), only "
                f"{', '.join(sorted(info['Runtimes']))}; add it to the engine's daemon.json"
            )
        if not engine.api.images(image_name()):
            raise SandboxUnavailable(
                f"the engine has no image {image_name()}; make it with `python -m sandboxes image`"
            )
        return support_of(info)
    finally:
        engine.api.close()


def support_of(info: Mapping[str, Any]) -> Support:
    """What an engine's `info` promises."""
    held = {
        "memory_total": bool(info.get("MemoryLimit")),
        "num_processes": bool(info.get("PidsLimit")),
        "syscall_filter": any("name=seccomp" in option for option in info.get("SecurityOptions", ())),
    }
    mends = tuple(f"The engine's host lacks {name}: use another kernel." for name in held if not held[name])
    others = ("isolated_files", "isolated_network", "isolated_processes", "disk_quota", "unprivileged_uid")
    return Support(Capabilities(**held, **dict.fromkeys(others, True)), mends)


def open_docker(limits: Limits, *, runtime: str | None = None) -> DockerSandbox:
    """A sandbox on the engine; `runtime` (runsc, kata, …) defaults to the environment variable's."""
    engine = connect()
    with ExitStack() as undo:
        undo.callback(engine.api.close)
        sandbox = DockerSandbox(engine, limits, runtime or os.environ.get(RUNTIME_VARIABLE))
        undo.pop_all()
    return sandbox


class DockerSandbox:
    """One container. A call's time-out ends the call; the container ends only if the call cannot be ended."""

    def __init__(self, engine: Engine, limits: Limits, runtime: str | None) -> None:
        engine.remove_stale()
        self._engine, self._limits = engine, limits
        self._support = support_of(engine.api.info())
        self._lock = threading.RLock()
        self._processes: list[DockerProcess] = []
        self._num_oom_kills = 0
        self._is_closed = False
        self._ended_why = ""
        uid = FIRST_UID + secrets.randbelow(1 << 29)
        self._user = f"{uid}:{uid}"
        self.container_id: str = engine.api.create_container(
            image_name(),
            FIRST_PROCESS,
            user="0:0",
            stdin_open=True,
            network_disabled=True,
            environment=ENVIRONMENT,
            labels={LABEL: owner()},
            host_config=engine.api.create_host_config(**host_options(limits, uid), runtime=runtime),
        )["Id"]
        with ExitStack() as undo:
            undo.callback(engine.remove, self.container_id)
            path = f"/containers/{self.container_id}/attach?stream=1&stdin=1"
            self._lifeline = EngineStream(engine.address, path, {})
            engine.api.start(self.container_id)
            undo.pop_all()

    @property
    def capabilities(self) -> Capabilities:
        """What the engine holds."""
        return self._support.capabilities

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        """Run a command in the work folder; see `Sandbox.run`."""
        began = time.monotonic()
        with self._lock:
            self._require_open()
            if self._ended_why:
                return ExecResult(_KILLED, b"", self._ended_why.encode(), False, False, False, 0.0)
            end = time.monotonic() + (self._limits.wall_s if timeout_s is None else timeout_s)
            result = self._call([*COMMAND, *argv], stdin, end, self._limits.output_bytes, env=env)
            is_out_of_memory = self._sweep()
        return replace(result, out_of_memory=is_out_of_memory, wall_s=time.monotonic() - began)

    def run_python(self, code: str, *, timeout_s: float | None = None) -> ExecResult:
        """Run a program in a fresh interpreter; see `Sandbox.run_python`."""
        argv = ["python3", "-I", "-"]
        return self.run(argv, stdin=code.encode(errors="surrogatepass"), timeout_s=timeout_s)

    def start(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> DockerProcess:
        """Start a command that is talked to; see `Sandbox.start`."""
        with self._lock:
            self._require_open()
            if self._ended_why:
                raise ProcessEnded(self._ended_why)
            _, stream = self._execute([*ANNOUNCE, *argv], env)
            process = DockerProcess(self, stream, self._limits)
            self._processes.append(process)
            try:
                process.pid = int(process.receive_line(self._limits.wall_s))
            except (TimeoutError, ProcessEnded, ValueError) as error:
                process.kill()
                raise SandboxError(f"{argv[0]} did not start in its container: {error}; try again") from error
            return process

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """A regular file of the work folder; see `Sandbox.read_file`."""
        return self._file_call("read", path, str(max_bytes), b"", max_bytes)

    def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file of the work folder; see `Sandbox.write_file`."""
        self._file_call("write", path, str(mode), data, 0)

    def close(self) -> None:
        """Remove the container; idempotent."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                for stream in (self._lifeline, *(process.stream for process in self._processes)):
                    stream.close()
                self._engine.remove(self.container_id)
                self._engine.api.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def forget(self, process: DockerProcess) -> None:
        """Kill a started process with its children."""
        with self._lock:
            if process in self._processes:
                self._processes.remove(process)
                process.stream.close()
                if not self._is_closed and not self._ended_why:
                    self._sweep()

    def _require_open(self) -> None:
        if self._is_closed:
            raise SandboxError("this sandbox is closed; open another")

    def _file_call(self, program: str, path: str, argument: str, stdin: bytes, max_bytes: int) -> bytes:
        argv = [f"{PROGRAMS}/{program}", "/".join(split_path(path)), argument]
        with self._lock:
            self._require_open()
            if self._ended_why:
                raise SandboxFileError(f"{path}: {self._ended_why}")
            result = self._call(argv, stdin, time.monotonic() + OWN_TIMEOUT_S, max(max_bytes, 4096))
        if result.exit_code != 0:
            reason = result.stderr.decode(errors="replace").strip().splitlines() or ["no answer in time"]
            raise SandboxFileError(f"{path}: {reason[-1]}; give a regular file in {WORK_FOLDER}")
        return result.stdout

    def _sweep(self) -> bool:
        """Kill all but the started processes, or else end the container; out: whether memory had run out."""
        argv = [f"{PROGRAMS}/sweep", *(str(process.pid) for process in self._processes)]
        result = self._call(argv, b"", time.monotonic() + OWN_TIMEOUT_S, 4096, is_root=True)
        *counts, last = result.stdout.split() or [b""]
        if last != b"swept":
            self._engine.remove(self.container_id)
            self._ended_why = "the sandbox was ended: the processes of an earlier call could not be stopped"
            return False
        before, self._num_oom_kills = self._num_oom_kills, sum(int(count) for count in counts)
        return self._num_oom_kills > before

    def _execute(
        self, argv: Sequence[str], env: Mapping[str, str] | None, is_root: bool = False
    ) -> tuple[str, EngineStream]:
        """Start a command in the container; out: its id and its streams."""
        exec_id: str = self._engine.api.exec_create(
            self.container_id,
            list(argv),
            stdin=True,
            user="0:0" if is_root else self._user,
            workdir="/" if is_root else WORK_FOLDER,
            environment=ENVIRONMENT | dict(env or {}),
        )["Id"]
        body = {"Detach": False, "Tty": False}
        return exec_id, EngineStream(self._engine.address, f"/exec/{exec_id}/start", body)

    def _call(
        self,
        argv: Sequence[str],
        stdin: bytes,
        end: float,
        max_bytes: int,
        *,
        env: Mapping[str, str] | None = None,
        is_root: bool = False,
    ) -> ExecResult:
        """Run a command until its streams close, `end` (monotonic) or `max_bytes` of one stream."""
        kept = {STDOUT: bytearray(), STDERR: bytearray()}
        timed_out = is_cut = False
        code: int | None = None
        exec_id, stream = self._execute(argv, env, is_root)
        try:
            stream.send(stdin, last=True)
            while not is_cut and (frames := stream.exchange(end)) is not None:
                for name, data in frames:
                    kept[name] += data
                    is_cut = is_cut or len(kept[name]) > max_bytes
            code = _PIPE_CLOSED if is_cut else self._exit_code(exec_id, end)
        except TimeoutError:
            timed_out = True
        finally:
            stream.close()
        stdout, stderr = (bytes(data[:max_bytes]) for data in kept.values())
        return ExecResult(code, stdout, stderr, timed_out or code == _CPU_TIME_UP, False, is_cut, 0.0)

    def _exit_code(self, exec_id: str, end: float) -> int:
        """The streams close a moment before the engine knows the exit code; TimeoutError if it never does."""
        while (state := self._engine.api.exec_inspect(exec_id))["Running"]:
            if time.monotonic() > end:
                raise TimeoutError("the command closed its streams and goes on")
            time.sleep(0.005)
        return state["ExitCode"]


class DockerProcess:
    """A process in the container that is talked to."""

    pid = 1
    """Its number inside; 1, which nothing kills, until it has told."""

    def __init__(self, sandbox: DockerSandbox, stream: EngineStream, limits: Limits) -> None:
        self.stream = stream
        self._sandbox, self._limits = sandbox, limits
        self._received = bytearray()
        self._has_ended = False

    def send(self, data: bytes) -> None:
        """Write to its stdin; see `SandboxProcess.send`."""
        self.stream.send(data)
        end = time.monotonic() + self._limits.wall_s
        while self.stream.has_unsent:
            self._exchange(end, "read nothing")

    def receive_line(self, timeout_s: float) -> bytes:
        """Its next line; see `SandboxProcess.receive_line`."""
        end = time.monotonic() + timeout_s
        while (size := self._received.find(b"\n") + 1) == 0:
            if len(self._received) > self._limits.output_bytes:
                raise ProcessEnded(f"a line is longer than {self._limits.output_bytes} bytes")
            self._exchange(end, "wrote no line")
        line = bytes(self._received[:size])
        del self._received[:size]
        return line

    def kill(self) -> None:
        """End it with its children; idempotent."""
        self._has_ended = True
        self._sandbox.forget(self)

    def _exchange(self, end: float, fault: str) -> None:
        if self._has_ended:
            raise ProcessEnded("the process has ended; start another")
        try:
            frames = self.stream.exchange(end)
        except TimeoutError as error:
            raise TimeoutError(f"the process {fault} in time") from error
        self._has_ended = frames is None
        self._received += b"".join(data for name, data in frames or () if name == STDOUT)


def host_options(limits: Limits, uid: int) -> dict[str, Any]:
    """What the engine holds a container to."""
    tmpfs = f"size={limits.disk_bytes},nr_inodes={limits.num_files},uid={uid},gid={uid},mode=0700"
    memory_bytes = limits.memory_bytes + limits.disk_bytes  # the work folder lies in memory
    ulimits = {"fsize": limits.disk_bytes, "core": 0, "nofile": 1024, "nproc": limits.num_processes}
    return {
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "cap_add": ["KILL"],  # for the root that ends what a call left; the user inside gets none
        "security_opt": ["no-new-privileges", f"seccomp={PROFILE.read_text()}"],
        "tmpfs": {WORK_FOLDER: tmpfs + ",nosuid,nodev,exec"},
        "ipc_mode": "private",
        "shm_size": 8 * MIB,
        "pids_limit": limits.num_processes + SPARE_PROCESSES,
        "mem_limit": memory_bytes,
        "memswap_limit": memory_bytes,
        "nano_cpus": 1_000_000_000,
        "oom_score_adj": 500,
        "ulimits": [
            {"Name": "cpu", "Soft": limits.cpu_s, "Hard": limits.cpu_s + 1},
            *({"Name": name, "Soft": most, "Hard": most} for name, most in ulimits.items()),
        ],
        "log_config": {"Type": "none", "Config": {}},
        "auto_remove": True,
    }


BACKEND = Backend("docker", probe, open_docker)
