"""The worker process: `python -m molt_envs.workers.child LIFELINE FD…`, one environment for each descriptor.

In: frames `(call, arguments)` on each socket. Out: frames `("ok", value)` or `(error's kind, message)`. Each
environment is made, stepped and closed in the thread of its socket.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import socket
import sys
import threading
from typing import Any

from molt_envs.errors import boundary
from molt_envs.policy import Policy
from molt_envs.workers.frames import KINDS, FrameError, receive_frame, send_frame


def main(arguments: list[str]) -> None:
    """Serve all sockets until they are closed."""
    lifeline, *descriptors = map(int, arguments)
    die_with_the_owner(lifeline)
    threads = [
        threading.Thread(target=serve, args=(socket.socket(fileno=descriptor),)) for descriptor in descriptors
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def die_with_the_owner(lifeline: int) -> None:
    """Have the kernel kill this process when the pipe's other end closes, however its owner ended, and even
    while a call that never returns holds the interpreter."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    try:
        closed = os.read(lifeline, 1) == b""
    except BlockingIOError:
        closed = False
    if closed:  # before the signal was asked for
        os._exit(1)


def memory_bytes() -> int:
    """Resident memory of this process, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def serve(sock: socket.socket) -> None:
    """Answer the calls of one environment's socket; the environment lives in this thread."""
    env = _Served()
    try:
        while True:
            call, *arguments = receive_frame(sock, None)
            with boundary() as result:
                send_frame(sock, ("ok", env.call(call, *arguments)), None)
            if result.error is not None:
                send_frame(sock, _failure(result.error), None)
    except FrameError:
        pass  # the owner has closed this environment
    finally:
        env.close()
        sock.close()


class _Served:
    """One environment, made by its first call."""

    def __init__(self) -> None:
        self._env: Any = None
        self._policies: dict[str, Policy] = {}

    def call(self, name: str, *arguments: Any) -> Any:
        if name == "make":
            import gymnasium

            env_id, kwargs = arguments
            self._env = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
            return None
        if name == "reset":
            seed, options = arguments
            observation, info = self._env.reset(seed=seed, options=options)
            return observation, info, memory_bytes()
        if name == "step":
            return self._env.step(*arguments)
        if name == "oracle":
            oracle = self._env.unwrapped.oracle(*arguments)
            self._policies |= {} if oracle is None else {name: oracle}
            return oracle is not None
        if name == "baselines":
            baselines = self._env.unwrapped.baselines(*arguments)
            self._policies |= baselines
            return tuple(baselines)
        if name == "act":
            policy, observation, info = arguments
            return self._policies[policy].act(observation, info)
        raise ValueError(f"unknown call {name!r}")

    def close(self) -> None:
        if self._env is not None:
            self._env.close()


def _failure(error: Exception) -> tuple[str, str]:
    kind = type(error).__name__
    if kind in KINDS:
        return kind, str(error)
    return "InfrastructureError", f"{kind}: {error}"


if __name__ == "__main__":
    main(sys.argv[1:])
