"""Runs inside, in front of every snippet: a verdict printed as one token, and raw system calls."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable

LIBC = ctypes.CDLL(None, use_errno=True)
SYSCALLS = {
    "bpf": (321, 280),
    "clone3": (435, 435),
    "fsopen": (430, 430),
    "io_uring_setup": (425, 425),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "userfaultfd": (323, 282),
}
"""Number of a system call on x86-64 and on arm64."""


def contained(why: object) -> None:
    """The attack was refused: say so and end."""
    _say("CONTAINED", why)


def escaped(why: object) -> None:
    """The attack got through: say so and end."""
    _say("ESCAPED", why)


def refused(attack: Callable[[], object]) -> None:
    """One call that must raise an OSError."""
    try:
        result = attack()
    except OSError as error:
        contained(error)
    else:
        escaped(f"{result!r:.200}")


def all_refused(attacks: list[Callable[[], object]]) -> None:
    """Several calls that must each raise an OSError."""
    for attack in attacks:
        try:
            escaped(f"{attack()!r:.200}")
        except OSError:
            continue
    contained(f"{len(attacks)} attempts")


def checked(result: int) -> int:
    """A C function's result, or the OSError that it stands for."""
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def syscall(name: str, *arguments: object) -> int:
    """A raw system call."""
    return checked(LIBC.syscall(SYSCALLS[name][platform.machine() == "aarch64"], *arguments))


def mark_process(marker: str) -> None:
    """Name the process, and all that it forks, so that the host can find what outlives the call."""
    LIBC.prctl(15, marker.encode(), 0, 0, 0)


def _say(token: str, why: object) -> None:
    os.write(1, f"{token} {why}\n".encode(errors="replace"))
    os._exit(0)
