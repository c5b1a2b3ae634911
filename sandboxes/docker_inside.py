"""What the docker backend runs inside a container for itself: small programs as text.

Those that touch files run as the user of the untrusted code: nothing that it lays into its folder leads them
further than it could go itself. The one that kills runs as root and opens nothing but /proc.
"""

from __future__ import annotations

FIRST_PROCESS = ("env", "--ignore-signal=CHLD", "cat")
"""Lives until its stdin closes; ignoring CHLD, it leaves no zombies of the orphans that it inherits."""

COMMAND = ("/bin/sh", "-c", 'exec "$@"', "sh")
"""Before a command: one that is missing is told as a shell tells it."""

ANNOUNCE = 'echo $$; exec "$@"'
"""Tells the process's number on its first line, then becomes the command."""

_KILL_OTHERS = r"""
import os, sys
kept = set(map(int, sys.argv[1:]))
for _ in range(100):
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state not in "ZX" and pid != "1":
            parents[int(pid)] = int(parent)
    def stays(pid):
        while pid in parents and pid not in kept:
            pid = parents[pid]
        return pid in kept
    doomed = [pid for pid in parents if pid != os.getpid() and not stays(pid)]
    if not doomed:
        break
    for pid in doomed:
        try:
            os.kill(pid, 9)
        except OSError:
            pass
else:
    sys.exit("they are born faster than they are killed")
"""

SWEPT = b"swept"
_SWEEP = """
if [ $# -gt 0 ]; then python3 -I -S -c "$0" $$ "$@" || exit 1; else kill -9 -1; fi
for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$f" ] && while read -r key value; do [ "$key" = oom_kill ] && echo "$value"; done < "$f"
done
echo swept
"""

READ = r"""
import os, stat, sys
*folders, name = sys.argv[1].split("/")
folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
for part in folders:
    folder = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
status = os.fstat(file)
if not stat.S_ISREG(status.st_mode):
    sys.exit("it is not a regular file")
if status.st_size > int(sys.argv[2]):
    sys.exit(f"it has {status.st_size} bytes, more than {sys.argv[2]}")
while data := os.read(file, 65536):
    while data:
        data = data[os.write(1, data):]
"""
"""Arguments: path, most bytes. Follows no link; fails with the reason on stderr."""

WRITE = r"""
import os, stat, sys
*folders, name = sys.argv[1].split("/")
folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
for part in folders:
    try:
        os.mkdir(part, dir_fd=folder)
    except FileExistsError:
        pass
    folder = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
file = os.open(name, flags, 0o600, dir_fd=folder)
if not stat.S_ISREG(os.fstat(file).st_mode):
    sys.exit("it is not a regular file")
os.ftruncate(file, 0)
while data := sys.stdin.buffer.read1(65536):
    while data:
        data = data[os.write(file, data):]
os.fchmod(file, int(sys.argv[2]))
"""
"""Arguments: path, mode; stdin: the bytes. Follows no link; fails with the reason on stderr."""


def program(text: str, *arguments: str) -> list[str]:
    """The command that runs one of the Python texts."""
    return ["python3", "-I", "-S", "-c", text, *arguments]


def sweep(kept: list[int]) -> list[str]:
    """The command that kills all processes but the trees of `kept`; it prints the OOM kills and SWEPT.

    With nothing to keep it is one system call, which no process escapes by forking.
    """
    return ["/bin/sh", "-c", _SWEEP, _KILL_OTHERS, *map(str, kept)]
