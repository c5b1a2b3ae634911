"""The system-call filter: in, this machine's architecture; out, a classic BPF program as the kernel takes it.

All calls are allowed but those that reach what untrusted code never needs and where kernels had their holes.
A denied call fails with EPERM, so that a program sees an error and not a crash.
"""

from __future__ import annotations

import errno
import platform
from struct import pack

from sandboxes.base import SandboxUnavailable

_LOAD, _AND, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _AUDIT_WORD, _ARGUMENT_0, _ARGUMENT_1 = 0, 4, 16, 24
"""Offsets in the kernel's `struct seccomp_data`; of an argument, its low 32 bits (little-endian)."""

_X32_BIT = 0x40000000
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_SOCKET_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6: not vsock, packet, netlink, algorithms, …"""
_SOCKET_KINDS = (1, 2, 5)
"""SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET: not raw."""
_TERMINAL_COMMANDS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into a terminal."""


_ARCHITECTURES = ("x86_64", "aarch64")
_AUDIT = (0xC000003E, 0xC00000B7)
"""AUDIT_ARCH_… of each."""
_CLONE, _SOCKET, _IOCTL, _CLONE3 = (56, 220), (41, 198), (16, 29), 435
_DENIED = """
mount:165:40 umount2:166:39 pivot_root:155:41 chroot:161:51 unshare:272:97 setns:308:268
ptrace:101:117 process_vm_readv:310:270 process_vm_writev:311:271 kcmp:312:272 bpf:321:280
perf_event_open:298:241 userfaultfd:323:282 add_key:248:217 request_key:249:218 keyctl:250:219
init_module:175:105 finit_module:313:273 delete_module:176:106 kexec_load:246:104
kexec_file_load:320:294 reboot:169:142 swapon:167:224 swapoff:168:225 sethostname:170:161
setdomainname:171:162 acct:163:89 quotactl:179:60 lookup_dcookie:212:18 name_to_handle_at:303:264
open_by_handle_at:304:265 fanotify_init:300:262 syslog:103:116 settimeofday:164:170
clock_settime:227:112 clock_adjtime:305:266 adjtimex:159:171 vhangup:153:58 personality:135:92
iopl:172: ioperm:173: modify_ldt:154: io_uring_setup:425:425 io_uring_enter:426:426
io_uring_register:427:427 open_tree:428:428 move_mount:429:429 fsopen:430:430 fsconfig:431:431
fsmount:432:432 fspick:433:433 pidfd_getfd:438:438 mount_setattr:442:442 quotactl_fd:443:443
memfd_secret:447:447 open_tree_attr:467:467
"""
"""NAME:NUMBER on x86_64:NUMBER on aarch64, where nothing stands for a call that is not there."""


def build_filter(architecture: str | None = None) -> bytes:
    """The program for an architecture (default: this machine's), 8 bytes an instruction."""
    architecture = architecture or platform.machine()
    if architecture not in _ARCHITECTURES:
        raise SandboxUnavailable(f"no system-call filter for the architecture {architecture!r}; use docker")
    column = _ARCHITECTURES.index(architecture)
    numbers = [row.split(":")[1:][column] for row in _DENIED.split()]
    deny, no_such_call = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
    program = [_line(_LOAD, _AUDIT_WORD), _line(_EQUAL, _AUDIT[column], 1), _line(_RETURN, _KILL)]
    program += [_line(_LOAD, _NUMBER), _line(_AT_LEAST, _X32_BIT, 0, 1), _line(_RETURN, no_such_call)]
    # glibc falls back from clone3, whose flags a filter cannot read, to clone.
    program += [_line(_EQUAL, _CLONE3, 0, 1), _line(_RETURN, no_such_call)]
    for number in filter(None, numbers):
        program += [_line(_EQUAL, int(number), 0, 1), _line(_RETURN, deny)]
    new_namespace = [_line(_LOAD, _ARGUMENT_0), _line(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _line(_RETURN, deny)]
    terminal = [_line(_LOAD, _ARGUMENT_1)]
    for command in _TERMINAL_COMMANDS:
        terminal += [_line(_EQUAL, command, 0, 1), _line(_RETURN, deny)]
    sockets = [_line(_LOAD, _ARGUMENT_0), *_one_of(_SOCKET_FAMILIES, deny)]
    sockets += [_line(_LOAD, _ARGUMENT_1), _line(_AND, 0xF), *_one_of(_SOCKET_KINDS, deny)]
    for call, block in ((_CLONE, new_namespace), (_IOCTL, terminal), (_SOCKET, sockets)):
        block = [*block, _line(_RETURN, _ALLOW)]
        program += [_line(_EQUAL, call[column], 0, len(block)), *block]
    return b"".join([*program, _line(_RETURN, _ALLOW)])


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return pack("<HBBI", code, if_true, if_false, value)


def _one_of(values: tuple[int, ...], otherwise: int) -> list[bytes]:
    """Go on below when the loaded word is one of `values`, else return `otherwise`."""
    tests = [_line(_EQUAL, value, len(values) - index) for index, value in enumerate(values)]
    return [*tests, _line(_RETURN, otherwise)]
