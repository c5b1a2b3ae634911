"""The docker backend without an engine: what it asks for, what it promises, and its raw streams."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from docker.errors import APIError

from sandboxes import Limits, SandboxUnavailable, open_sandbox
from sandboxes.base import SandboxError
from sandboxes.docker import PROFILE, host_options, support_of
from sandboxes.docker_engine import LABEL, Engine, EngineStream, connect, owner

FULL = {"MemoryLimit": True, "PidsLimit": True, "SecurityOptions": ["name=seccomp,profile=default"]}
DENIED = """
add_key bpf clone3 fanotify_init fsopen init_module io_uring_enter io_uring_register acct
io_uring_setup kexec_load keyctl mount move_mount name_to_handle_at open_by_handle_at open_tree
perf_event_open pivot_root process_vm_readv process_vm_writev ptrace reboot request_key setns swapon
umount2 unshare userfaultfd clock_settime settimeofday sethostname quotactl syslog pidfd_getfd
chroot kcmp
"""


def test_the_container_is_hardened() -> None:
    options = host_options(
        Limits(memory_bytes=64 << 20, disk_bytes=8 << 20, num_files=99, num_processes=20), 77
    )
    assert options["network_mode"] == "none"
    assert options["read_only"] is True
    assert (options["cap_drop"], options["cap_add"]) == (["ALL"], ["KILL"])
    assert "no-new-privileges" in options["security_opt"]
    assert options["mem_limit"] == options["memswap_limit"] == 72 << 20
    assert 20 < options["pids_limit"] < 40
    assert {"Name": "nproc", "Soft": 20, "Hard": 20} in options["ulimits"]
    for word in (f"size={8 << 20}", "nr_inodes=99", "uid=77", "gid=77", "mode=0700", "nosuid", "nodev"):
        assert word in options["tmpfs"]["/work"].split(",")


def test_the_profile_denies_by_default_and_lets_no_dangerous_call_through() -> None:
    profile = json.loads(PROFILE.read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed = {
        name
        for rule in profile["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule
        for name in rule["names"]
    }
    assert allowed.isdisjoint(DENIED.split())
    assert {"read", "write", "execve", "fork", "openat", "wait4"} <= allowed


def test_sockets_terminals_and_clones_are_let_through_by_their_arguments_only() -> None:
    rules = json.loads(PROFILE.read_text())["syscalls"]
    values: dict[str, set[int]] = {}
    for rule in rules:
        for argument in rule.get("args", ()):
            values.setdefault(rule["names"][0], set()).add(argument["value"])
    assert values["socket"] == {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6}
    assert values["ioctl"].isdisjoint({0x5412, 0x541C})
    assert values["clone"] == {0x7E020000}


@pytest.mark.parametrize(
    ("lacking", "name"),
    [("MemoryLimit", "memory_total"), ("PidsLimit", "num_processes"), ("SecurityOptions", "syscall_filter")],
)
def test_what_the_engine_lacks_is_not_promised(lacking: str, name: str) -> None:
    assert support_of(FULL).capabilities.missing == ()
    weak = support_of({**FULL, lacking: []})
    assert weak.capabilities.missing == (name,)
    assert name in weak.mends[0]


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("unix:///nowhere/docker.sock", "apt-get install docker.io"),
        ("tcp://10.0.0.1:2375", "give unix:///path"),
    ],
)
def test_without_an_engine_the_refusal_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, address: str, says: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(SandboxUnavailable, match=says):
        connect()
    with pytest.raises(SandboxUnavailable, match=says):
        open_sandbox("docker")


class Api:
    """An engine with containers of several drivers."""

    def __init__(self, *owners: str) -> None:
        self.labels = {f"c{number}": name for number, name in enumerate(owners)}
        self.removed: list[str] = []

    def containers(self, *, all: bool, filters: dict[str, str]) -> list[dict[str, object]]:
        return [{"Id": name, "Labels": {LABEL: label}} for name, label in self.labels.items()]

    def remove_container(self, container: str, *, force: bool, v: bool) -> None:
        self.removed.append(container)


def test_only_containers_of_dead_drivers_of_this_pid_namespace_are_removed() -> None:
    namespace, pid, start = owner().split(":")
    dead = f"{namespace}:{pid}:{int(start) - 1}"
    api = Api(owner(), dead, f"{namespace}:{2**22 + 1}:5", f"{int(namespace) + 1}:{pid}:5")
    Engine(api, "unix:///nowhere").remove_stale()
    assert api.removed == ["c1", "c2"]


class EndsByItself(Api):
    """Its containers end at the moment they are to be killed."""

    num_faults = 2

    def remove_container(self, container: str, *, force: bool, v: bool) -> None:
        if self.num_faults:
            self.num_faults -= 1
            raise APIError("could not kill: is not running", response=Response(500))
        super().remove_container(container, force=force, v=v)


@dataclass
class Response:
    """What the SDK's errors look at."""

    status_code: int


def test_a_container_that_ends_while_it_is_removed_is_removed() -> None:
    api = EndsByItself("driver")
    Engine(api, "unix:///nowhere").remove("c0")
    assert api.removed == ["c0"]


def frame(name: int, data: bytes) -> bytes:
    return bytes([name, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


def serve(path: Path, behave: Callable[[socket.socket], None]) -> threading.Thread:
    """An engine's socket for one connection."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def accept() -> None:
        connection = listener.accept()[0]
        with listener, connection:
            while not connection.recv(4096).endswith(b"{}"):
                pass
            behave(connection)

    thread = threading.Thread(target=accept)
    thread.start()
    return thread


def test_frames_that_come_with_the_head_or_in_pieces_are_whole(tmp_path: Path) -> None:
    def behave(connection: socket.socket) -> None:
        whole = frame(1, b"out") + frame(2, b"error")
        connection.sendall(b"HTTP/1.1 101 UPGRADED\r\n\r\n" + frame(1, b"first") + whole[:5])
        time.sleep(0.02)
        connection.sendall(whole[5:])

    thread = serve(tmp_path / "engine", behave)
    stream = EngineStream(f"unix://{tmp_path}/engine", "/exec/1/start", {})
    frames = []
    while (got := stream.exchange(time.monotonic() + 10)) is not None:
        frames += got
    stream.close()
    thread.join()
    assert frames == [(1, b"first"), (1, b"out"), (2, b"error")]


def test_input_is_written_whole_and_then_ended(tmp_path: Path) -> None:
    received = bytearray()

    def behave(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while data := connection.recv(65536):
            received.extend(data)

    thread = serve(tmp_path / "engine", behave)
    stream = EngineStream(f"unix://{tmp_path}/engine", "/exec/1/start", {})
    stream.send(b"x" * 3_000_000, last=True)
    while stream.exchange(time.monotonic() + 10) is not None:
        pass
    stream.close()
    thread.join()
    assert len(received) == 3_000_000


def test_a_stream_that_does_not_move_is_a_time_out_and_a_refusal_an_error(tmp_path: Path) -> None:
    thread = serve(
        tmp_path / "slow", lambda connection: (connection.sendall(b"HTTP/1.1 101 U\r\n\r\n"), time.sleep(0.1))
    )
    stream = EngineStream(f"unix://{tmp_path}/slow", "/exec/1/start", {})
    with pytest.raises(TimeoutError):
        stream.exchange(time.monotonic() + 0.01)
    stream.close()
    thread.join()
    thread = serve(
        tmp_path / "no", lambda connection: connection.sendall(b"HTTP/1.1 409 Conflict\r\n\r\npaused")
    )
    with pytest.raises(SandboxError, match="paused"):
        EngineStream(f"unix://{tmp_path}/no", "/exec/1/start", {})
    thread.join()
