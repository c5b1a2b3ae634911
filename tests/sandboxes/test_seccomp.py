"""The system-call filter, run on a small interpreter of the kernel's filter language."""

from __future__ import annotations

import errno
from struct import iter_unpack, pack, unpack_from

import pytest

from sandboxes import SandboxUnavailable
from sandboxes.seccomp import build_filter

X86_64, AARCH64 = 0xC000003E, 0xC00000B7
ALLOW, KILL, DENY, NO_SUCH_CALL = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
UNIX, INET, PACKET, VSOCK, STREAM, DGRAM, RAW = 1, 2, 17, 40, 1, 2, 3
CLOEXEC = 0x80000


def answer(program: bytes, number: int, *arguments: int, audit: int = X86_64) -> int:
    """What the kernel would return for one call."""
    data = pack("<IIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    lines = list(iter_unpack("<HBBI", program))
    at, word = 0, 0
    while True:
        code, if_true, if_false, value = lines[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            word = unpack_from("<I", data, value)[0]
        elif code == 0x54:
            word &= value
        else:
            holds = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[code]
            at += if_true if holds else if_false


@pytest.mark.parametrize("number", [165, 272, 308, 101, 310, 321, 425, 248, 250, 155, 430, 304, 173])
def test_calls_that_reach_deep_into_the_kernel_are_denied(number: int) -> None:
    assert answer(build_filter("x86_64"), number) == DENY


@pytest.mark.parametrize("number", [0, 1, 9, 39, 59, 60, 117, 202, 231, 257, 319, 424])
def test_ordinary_calls_are_allowed(number: int) -> None:
    assert answer(build_filter("x86_64"), number) == ALLOW


@pytest.mark.parametrize("family", [UNIX, INET, 10])
def test_stream_sockets_of_common_families_are_allowed(family: int) -> None:
    assert answer(build_filter("x86_64"), 41, family, STREAM | CLOEXEC) == ALLOW


@pytest.mark.parametrize(
    ("family", "kind"), [(VSOCK, STREAM), (PACKET, RAW), (38, 5), (16, DGRAM), (INET, RAW)]
)
def test_vsock_packet_algorithm_netlink_and_raw_sockets_are_denied(family: int, kind: int) -> None:
    assert answer(build_filter("x86_64"), 41, family, kind | CLOEXEC) == DENY


def test_a_plain_fork_is_allowed_and_a_new_namespace_is_not() -> None:
    program = build_filter("x86_64")
    assert answer(program, 56, 0x01200011) == ALLOW
    assert all(
        answer(program, 56, 17 | flag) == DENY for flag in (0x20000, 0x10000000, 0x20000000, 0x40000000)
    )


def test_clone3_does_not_exist_so_that_libc_falls_back_to_clone() -> None:
    assert answer(build_filter("x86_64"), 435) == NO_SUCH_CALL


def test_typing_into_a_terminal_is_denied_and_other_commands_are_not() -> None:
    program = build_filter("x86_64")
    assert answer(program, 16, 0, 0x5412) == answer(program, 16, 0, (1 << 32) | 0x5412) == DENY
    assert answer(program, 16, 0, 0x5413) == ALLOW


def test_another_architecture_is_killed_and_the_x32_calls_do_not_exist() -> None:
    assert answer(build_filter("x86_64"), 1, audit=0x40000003) == KILL
    assert answer(build_filter("x86_64"), 0x40000000 | 165) == NO_SUCH_CALL


def test_aarch64_has_its_own_numbers() -> None:
    program = build_filter("aarch64")
    assert answer(program, 40, audit=AARCH64) == DENY
    assert answer(program, 165, audit=AARCH64) == ALLOW
    assert answer(program, 198, VSOCK, STREAM, audit=AARCH64) == DENY


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(SandboxUnavailable, match="riscv64"):
        build_filter("riscv64")
