"""The docker backend: in, limits and code; out, results from one hardened container per sandbox.

Process 1 belongs to another user than the code and reads its stdin until the driver's end of it closes: a
driver that dies takes its containers along. What a call leaves running is killed before it returns.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from sandboxes import docker_inside as inside
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
from sandboxes.docker_container import Container, Output, remove_stale
from sandboxes.docker_engine import STDOUT, Engine, EngineStream, connect
from sandboxes.files import split_path
from sandboxes.images.build import image_name
from sandboxes.limits import Limits

RUNTIME_VARIABLE = "MOLT_SANDBOX_RUNTIME"
"""Environment variable: the engine's runtime to use, e.g. runsc; default, the engine's own choice."""
IMAGE_VARIABLE = "MOLT_SANDBOX_IMAGE"
"""Environment variable: another image, with python3, sh and a folder /work of user 65534."""
SWEEP_TIMEOUT_S = 15.0
_CPU_TIME_UP, _PIPE_CLOSED, _KILLED = 128 + 24, 128 + 13, 128 + 9


def support_of(info: Mapping[str, object]) -> Support:
    """What an engine's `info` promises."""
    filters = any("name=seccomp" in str(option) for option in _as_list(info.get("SecurityOptions")))
    held = {
        "memory_total": bool(info.get("MemoryLimit")),
        "num_processes": bool(info.get("PidsLimit")),
        "syscall_filter": filters,
    }
    mends = tuple(
        f"The engine does not support {name}: its kernel needs it." for name in held if not held[name]
    )
    capabilities = Capabilities(
        isolated_files=True,
        isolated_network=True,
        isolated_processes=True,
        disk_quota=True,
        unprivileged_uid=True,
        **held,
    )
    return Support(capabilities, mends)


def probe() -> Support:
    """What the engine here holds; SandboxUnavailable without an engine, its runtime or the image."""
    engine = connect()
    try:
        return _checked_support(engine)
    finally:
        engine.api.close()


def open_docker(
    limits: Limits, *, engine: Engine | None = None, runtime: str | None = None, image: str | None = None
) -> DockerSandbox:
    """A sandbox on an engine; its runtime's name (runsc, kata, …) and its image are options."""
    return DockerSandbox(
        engine or connect(),
        limits,
        runtime=runtime or os.environ.get(RUNTIME_VARIABLE),
        image=image or os.environ.get(IMAGE_VARIABLE) or image_name(),
    )


def _checked_support(engine: Engine) -> Support:
    info = engine.api.info()
    runtime, image = os.environ.get(RUNTIME_VARIABLE), os.environ.get(IMAGE_VARIABLE) or image_name()
    runtimes = info.get("Runtimes")
    names = [str(name) for name in runtimes] if isinstance(runtimes, dict) else []  # type: ignore[reportUnknownVariableType]
    if runtime and runtime not in names:
        raise SandboxUnavailable(
            f"the engine has no runtime {runtime!r} ({RUNTIME_VARIABLE}), only {', '.join(sorted(names))}; "
            "add it to the engine's daemon.json"
        )
    if not engine.api.images(image):
        raise SandboxUnavailable(f"the engine has no image {image}; make it with `python -m sandboxes image`")
    return support_of(info)


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []  # type: ignore[reportUnknownVariableType]


class DockerSandbox:
    """One container. A call's time-out ends the call; the container ends only if the call cannot be ended."""

    def __init__(self, engine: Engine, limits: Limits, *, runtime: str | None, image: str) -> None:
        remove_stale(engine)
        self._engine, self._limits = engine, limits
        self._support = support_of(engine.api.info())
        self._lock = threading.RLock()
        self._processes: list[DockerProcess] = []
        self._num_oom_kills = 0
        self._is_closed = False
        self._ended_why = ""
        self._container = Container(engine, image, runtime, limits)

    @property
    def capabilities(self) -> Capabilities:
        """What the engine holds."""
        return self._support.capabilities

    @property
    def container_id(self) -> str:
        """The engine's name for it."""
        return self._container.container_id

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
                return _result(Output(_KILLED, b"", self._ended_why.encode(), False, False), began, False)
            end = time.monotonic() + (self._limits.wall_s if timeout_s is None else timeout_s)
            output = self._container.call([*inside.COMMAND, *argv], stdin, end, env=env)
            return _result(output, began, self.sweep())

    def run_python(self, code: str, *, timeout_s: float | None = None) -> ExecResult:
        """Run a program in a fresh interpreter; see `Sandbox.run_python`."""
        return self.run(["python3", "-I", "-"], stdin=code.encode(), timeout_s=timeout_s)

    def start(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> DockerProcess:
        """Start a command that is talked to; see `Sandbox.start`."""
        with self._lock:
            self._require_open()
            if self._ended_why:
                raise ProcessEnded(self._ended_why)
            _, stream = self._container.execute(["/bin/sh", "-c", inside.ANNOUNCE, "sh", *argv], env)
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
        argv = inside.program(inside.READ, "/".join(split_path(path)), str(max_bytes))
        return self._file_call(path, argv, b"", max_bytes)

    def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file of the work folder; see `Sandbox.write_file`."""
        self._file_call(path, inside.program(inside.WRITE, "/".join(split_path(path)), str(mode)), data, 0)

    def close(self) -> None:
        """Remove the container; idempotent."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                for process in self._processes:
                    process.stream.close()
                self._container.remove()
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
                    self.sweep()

    def sweep(self) -> bool:
        """Kill all but the started processes, or else end the container; out: whether memory ran out."""
        argv = inside.sweep([process.pid for process in self._processes])
        output = self._container.call(argv, b"", time.monotonic() + SWEEP_TIMEOUT_S, is_root=True)
        *counts, last = output.stdout.split() or [b""]
        if last != inside.SWEPT:
            self._container.remove()
            self._ended_why = "the sandbox was ended: the processes of an earlier call could not be stopped"
            return False
        before, self._num_oom_kills = self._num_oom_kills, sum(int(count) for count in counts)
        return self._num_oom_kills > before

    def _require_open(self) -> None:
        if self._is_closed:
            raise SandboxError("this sandbox is closed; open another")

    def _file_call(self, path: str, argv: list[str], stdin: bytes, max_bytes: int) -> bytes:
        with self._lock:
            self._require_open()
            if self._ended_why:
                raise SandboxFileError(f"{path}: {self._ended_why}")
            end = time.monotonic() + SWEEP_TIMEOUT_S
            output = self._container.call(argv, stdin, end, max_bytes=max(max_bytes, 4096))
        if output.exit_code != 0:
            reason = output.stderr.decode(errors="replace").strip().splitlines() or ["no answer in time"]
            raise SandboxFileError(f"{path}: {reason[-1]}; give a regular file in {WORK_FOLDER}")
        return output.stdout


class DockerProcess:
    """A process in the container that is talked to."""

    pid = 1
    """Its number inside; 1, which nothing kills, until it has told."""

    def __init__(self, sandbox: DockerSandbox, stream: EngineStream, limits: Limits) -> None:
        self.stream = stream
        self._sandbox = sandbox
        self._limits = limits
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
        for name, data in frames or ():
            if name == STDOUT:
                self._received += data


def _result(output: Output, began: float, out_of_memory: bool) -> ExecResult:
    code = _PIPE_CLOSED if output.cut else output.exit_code
    return ExecResult(
        exit_code=None if output.timed_out else code,
        stdout=output.stdout,
        stderr=output.stderr,
        timed_out=output.timed_out or code == _CPU_TIME_UP,
        out_of_memory=out_of_memory,
        output_cut=output.cut,
        wall_s=time.monotonic() - began,
    )


BACKEND = Backend("docker", probe, open_docker)
