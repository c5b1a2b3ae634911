"""The keeper: the process that owns the mounts and the processes of a driver's sandboxes, and ends with it.

In: requests on a socket, a JSON head each, with descriptors: of a memory file with the details, of the
report, and what else is needed. Out: children in fresh namespaces, and one JSON line on a call's report when
it ends. It runs alone (`python -I keeper_program.py`), has one thread and no secrets, so that it can fork at
any time. Each sandbox gets a copy of the keeper, its starter, on a socket of its own: it is in the sandbox's
control group, so that its calls are born there (to move a process into a group costs milliseconds). A call
without `argv` is a snippet, and a copy of the starter runs it. Details are read in the child, so that no
snippet finds another's.
"""

# Runs outside of the package: only the standard library, and little of it, for each import costs every fork.
import ctypes
import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from types import FrameType, ModuleType, TracebackType
from typing import Any

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP = 1, 4, 22
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
REPORT_FD, EXTRA_FD = 3, 4
"""In a child, after its three standard streams: where it says that it started, and the filter or the code."""

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise OSError after a libc call that answered below 0."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """The system call, with the target in the error."""
    texts = [text.encode() if text else None for text in (source, target, kind, options)]
    check(libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]), f"mount at {target}")


def bind(source: str, target: str) -> None:
    """Make `source` appear at `target`, read only, without set-uid programs and devices."""
    mount(source, target, flags=MS_BIND | MS_REC)
    mount("", target, flags=MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_RDONLY)


def children() -> list[int]:
    """Pids of this process's children, those included that it got from dead ones."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]


def write(path: str, data: bytes) -> None:
    """A whole file."""
    with open(path, "wb") as file:
        file.write(data)


class Keeper:
    """The sandboxes' folders and starters; in a starter, the running calls."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.base = self.machine = self.filter_file = ""
        self.filter = b""
        self.groups: dict[int, list[str]] = {}
        """Sandbox -> the folders of its control group."""
        self.starters: dict[int, int] = {}
        """Sandbox -> the process that makes its calls."""
        self.calls: dict[int, tuple[int, int]] = {}
        """Pid -> call, descriptor of its report."""
        self.prepare()

    def prepare(self) -> None:
        """What each keeper and starter needs once."""
        check(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "child subreaper")
        self.own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def setup(self, request: dict[str, Any]) -> None:
        """Enter a private mount namespace and build there the root that all sandboxes share."""
        self.filter, self.machine = bytes.fromhex(request["filter"]), request["machine"]
        self.base = request["base"]
        uid, gid = os.getuid(), os.getgid()
        check(libc.unshare(CLONE_NEWNS | (CLONE_NEWUSER if uid else 0)), "new mount namespace")
        if uid:
            write("/proc/self/setgroups", b"deny")
            write("/proc/self/uid_map", b"%d %d 1" % (uid, uid))
            write("/proc/self/gid_map", b"%d %d 1" % (gid, gid))
        mount("none", "/", flags=MS_REC | MS_PRIVATE)
        mount("tmpfs", self.base, "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,nr_inodes=8192,mode=755")
        root = f"{self.base}/root"
        for folder in request["folders"]:
            os.makedirs(root + folder, 0o755, exist_ok=True)
        for link, target in request["links"].items():
            os.symlink(target, root + link)
        for path, text in request["files"].items():
            write(root + path, bytes.fromhex(text))
        for source in request["binds"]:
            os.makedirs(root + source, 0o755, exist_ok=True)
            bind(source, root + source)
        for device in request["devices"]:
            write(root + device, b"")
            mount(device, root + device, flags=MS_BIND)
        self.filter_file = f"{self.base}/filter"
        write(self.filter_file, self.filter)
        bind(root, root)

    def open(self, sandbox: int, descriptors: list[int]) -> dict[str, str] | None:
        """Mount a sandbox's files and fork its starter, which answers; as `spawn`, it returns twice."""
        details = read_json(descriptors[0])
        uid = details["uid"]
        folder = f"{self.base}/{sandbox}"
        os.mkdir(folder, 0o755)
        options = f"size={details['size']},nr_inodes={details['nr_inodes']},mode=755"
        mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, options)
        for name in ("work", "tmp", "shm"):
            os.mkdir(f"{folder}/{name}", 0o700)
            os.chown(f"{folder}/{name}", uid, uid if os.getuid() == 0 else -1)
        keeper_pid, self.groups[sandbox] = os.getpid(), details["groups"]
        starter = os.fork()
        if starter == 0:
            return self.become_starter(keeper_pid, sandbox, descriptors[1:])
        self.starters[sandbox] = starter
        return None

    def become_starter(self, keeper_pid: int, sandbox: int, descriptors: list[int]) -> dict[str, str] | None:
        """In the copy: join the sandbox's control group, answer with its work folder, serve its calls."""
        self.control.detach()
        move_descriptors(descriptors, 3)
        report = 3
        try:
            check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "parent-death signal")
            self.prepare()
            for group in self.groups[sandbox]:
                write(f"{group}/cgroup.procs", b"0")
            folder = os.open(f"{self.base}/{sandbox}/work", os.O_PATH | os.O_DIRECTORY)
        except OSError as error:
            answer(report, {"error": f"open: {error}"})
            os._exit(111)
        answer(report, {}, [folder])
        os.close(folder)
        os.close(report)
        self.groups.clear()
        self.starters.clear()
        self.control = socket.socket(fileno=4)
        snippet_env = self.serve(keeper_pid)
        if snippet_env is None:
            self.end()
            os._exit(0)
        return snippet_env

    def close(self, sandbox: int) -> None:
        """Kill a sandbox's starter, with which its calls die, and drop its files."""
        if (starter := self.starters.pop(sandbox, None)) is not None:
            os.kill(starter, signal.SIGKILL)
        folder = f"{self.base}/{sandbox}"
        if self.groups.pop(sandbox, None) is not None:
            check(libc.umount2(folder.encode(), MNT_DETACH), f"unmount {folder}")
            os.rmdir(folder)

    def kill(self, number: int) -> None:
        """Kill the call with that number."""
        for pid, (call, _) in self.calls.items():
            if call == number:
                os.kill(pid, signal.SIGKILL)

    def spawn(self, head: dict[str, Any], descriptors: list[int]) -> dict[str, str] | None:
        """Fork a child, which executes `argv`; for a snippet return there too, with its environment."""
        is_snippet = head["is_snippet"]
        if is_snippet:
            check(libc.unshare(CLONE_NEWPID), "new pid namespace")
        pid = -1
        try:
            pid = os.fork()
        finally:
            if is_snippet and pid != 0:
                check(libc.setns(self.own_pid_namespace, CLONE_NEWPID), "back to the own pid namespace")
        if pid == 0:
            return become_call(self, head["sandbox"], descriptors)
        self.calls[pid] = (head["call"], os.dup(descriptors[1]))
        return None

    def reap(self) -> None:
        """Report the calls that have ended, and kill what they left.

        A bubblewrap that is killed early has not told its child yet to die with it: the child becomes ours.
        """
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                break
            if pid in self.calls:
                code = os.waitstatus_to_exitcode(status)
                _, report = self.calls.pop(pid)
                answer(report, {"exit_code": code if code >= 0 else 128 - code})
                os.close(report)
            else:
                self.starters = {key: starter for key, starter in self.starters.items() if starter != pid}
        known = {*self.calls, *self.starters.values()}
        for pid in children():
            if pid not in known:
                os.kill(pid, signal.SIGKILL)

    def handle(self, head: dict[str, Any], descriptors: list[int]) -> dict[str, str] | None:
        """Serve one request; what fails is answered as {"error": …} on its report, the second descriptor.

        As `spawn` and `open`, it returns twice.
        """
        name = head["op"]
        try:
            if name == "kill":
                self.kill(head["call"])
            elif name == "spawn":
                return self.spawn(head, descriptors)
            elif name == "open":
                return self.open(head["sandbox"], descriptors)
            else:
                if name == "close":
                    self.close(head["sandbox"])
                else:
                    self.setup(read_json(descriptors[0]))
                answer(descriptors[1], {})
        except OSError as error:
            answer(descriptors[1], {"error": f"{name}: {error}"})
        return None

    def serve(self, owner_pid: int) -> dict[str, str] | None:
        """Until the parent is gone, a driver or keeper; in a snippet's process, its environment."""
        owner = os.pidfd_open(owner_pid)
        if os.getppid() != owner_pid:
            return None
        woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, wake)
        poll = select.poll()
        for descriptor in (owner, woken, self.control.fileno()):
            poll.register(descriptor, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if woken in ready:
                os.read(woken, 4096)
                self.reap()
            if owner in ready:
                return None
            if self.control.fileno() in ready:
                head, descriptors, _, _ = socket.recv_fds(self.control, 4096, 8)
                if not head:
                    return None
                snippet_env = self.handle(json.loads(head), descriptors)
                if snippet_env is not None:
                    return snippet_env
                for descriptor in descriptors:
                    os.close(descriptor)

    def end(self) -> None:
        """Kill what runs and remove the control groups; the mounts go with the namespace."""
        while pids := children():
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            for pid in pids:
                os.waitpid(pid, 0)
        deadline_s = time.monotonic() + 1.0
        for folder in [folder for group in self.groups.values() for folder in group]:
            while os.path.isdir(folder) and time.monotonic() < deadline_s:
                try:
                    os.rmdir(folder)
                except OSError:  # Its last process is not quite gone.
                    time.sleep(0.002)


def answer(descriptor: int, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
    """One JSON line on a report; a driver that no longer listens is fine."""
    data = json.dumps(message).encode() + b"\n"
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        try:
            socket.send_fds(connection, [data], descriptors or [], socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)
        except (BrokenPipeError, ConnectionResetError, BlockingIOError):
            return


def read_json(descriptor: int) -> dict[str, Any]:
    """The content of a memory file."""
    return json.loads(os.pread(descriptor, os.fstat(descriptor).st_size, 0))


def move_descriptors(descriptors: list[int], first: int) -> None:
    """Make them `first`, `first` + 1, …, inheritable, and close all others from `first` on."""
    kept = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 64) for descriptor in descriptors]
    for number, descriptor in enumerate(kept, first):
        os.dup2(descriptor, number, inheritable=True)
    os.closerange(first + len(kept), max(map(int, os.listdir("/proc/self/fd"))) + 1)


def become_call(keeper: Keeper, sandbox: int, descriptors: list[int]) -> dict[str, str]:
    """In the child: keep only the call's descriptors, execute or isolate."""
    try:
        request = read_json(descriptors[0])
        check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "parent-death signal")
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        write("/proc/self/oom_score_adj", b"1000")  # At a memory limit, before the starter.
        _, report, *streams = descriptors
        extra = streams[3] if len(streams) > 3 else os.open(keeper.filter_file, os.O_RDONLY)
        move_descriptors([*streams[:3], report, extra], 0)
        for name, soft, hard in request["rlimits"]:
            highest = resource.getrlimit(name)[1] % 2**64  # No limit is -1.
            resource.setrlimit(name, (min(soft, highest), min(hard, highest)))
        if request["argv"] is not None:
            os.execve(request["argv"][0], request["argv"], request["env"])
        enter_namespaces(keeper, sandbox, request["uid"])
    except OSError as error:
        answer(REPORT_FD, {"error": f"a call cannot start: {error}"})
        os._exit(111)
    return request["env"]


def wake(number: int, frame: FrameType | None) -> None:
    """Nothing: the signal's wake-up descriptor has done it."""


def enter_namespaces(keeper: Keeper, sandbox: int, uid: int) -> None:
    """As process 1 of a new pid namespace: all else new too, a root without the host, no privilege left."""
    kinds = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP
    check(libc.unshare(kinds), "new namespaces")
    root, folder = f"{keeper.base}/root", f"{keeper.base}/{sandbox}"
    for source, target in (("work", "work"), ("tmp", "tmp"), ("shm", "dev/shm")):
        mount(f"{folder}/{source}", f"{root}/{target}", flags=MS_BIND)
    mount("proc", f"{root}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    os.chdir(root)
    check(libc.syscall(SYS_PIVOT_ROOT[keeper.machine], b".", b"."), "pivot_root")
    check(libc.umount2(b".", MNT_DETACH), "unmount the host's root")
    os.chdir("/work")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, 0x8914, struct.pack("16sH22x", b"lo", 0x1))
    os.setsid()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    # The change of user has cleared the parent-death signal.
    check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "parent-death signal")
    program = ctypes.create_string_buffer(keeper.filter, len(keeper.filter))
    header = struct.pack("HxxxxxxP", len(keeper.filter) // 8, ctypes.addressof(program))
    check(libc.prctl(PR_SET_SECCOMP, 2, header, 0, 0), "system-call filter")


def run_snippet(env: dict[str, str]) -> None:
    """Process 1 stays to reap, out of reach (it is not dumpable); process 2 runs the snippet."""
    answer(REPORT_FD, {"started": True})
    os.close(REPORT_FD)
    code = os.pread(EXTRA_FD, os.fstat(EXTRA_FD).st_size, 0)
    os.close(EXTRA_FD)
    snippet = os.fork()
    while snippet:
        pid, status = os.wait()
        if pid == snippet:
            exit_code = os.waitstatus_to_exitcode(status)
            os._exit(exit_code if exit_code >= 0 else 128 - exit_code)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    os.environ.clear()
    os.environ.update(env)
    main_module = ModuleType("__main__")
    sys.modules["__main__"] = main_module
    sys.argv[:] = ["-c"]
    sys.excepthook = show_error
    exec(compile(code, "<string>", "exec"), vars(main_module))


def show_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """As the interpreter does, without the keeper's frames."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def main() -> None:
    """Serve the driver whose pid is the first argument, on the descriptor that is the second."""
    keeper = Keeper(socket.socket(fileno=int(sys.argv[2])))
    gc.collect()
    gc.freeze()
    snippet_env = keeper.serve(int(sys.argv[1]))
    if snippet_env is None:
        keeper.end()
    else:
        run_snippet(snippet_env)


if __name__ == "__main__":
    main()
