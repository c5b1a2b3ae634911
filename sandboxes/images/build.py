"""The image of the docker backend: in, the host's own files; out, a tar that the engine imports. No registry.

It holds a system Python with its standard library, a shell and the usual small commands, with the libraries
that they load.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

from sandboxes.base import SandboxUnavailable

COMMANDS = Path(__file__).parent / "commands.txt"
"""The commands that the image holds, of those that the host has."""
PYTHON = "/usr/bin/python3"
LEFT_OUT = re.compile(
    r"/(test|tests|idlelib|ensurepip|lib2to3|tkinter|turtledemo|dist-packages|site-packages|config-[^/]*)(/|$)"
)
FORMAT = 2
"""Of the image: raise it when this module makes another one of the same files."""
NOBODY = 65534
FOLDERS = ("dev", "etc", "proc", "run", "sys", "usr/bin", "work")
LINKS = {
    "bin": "usr/bin",
    "lib": "usr/lib",
    "lib64": "usr/lib64",
    "sbin": "usr/bin",
    "tmp": "work",
    "usr/bin/python": "python3",
}
TEXTS = {
    "etc/passwd": "root:x:0:0::/:/usr/sbin/nologin\nnobody:x:65534:65534::/work:/bin/sh\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


def image_name() -> str:
    """The image's name, with a digest of what goes into it: it changes when the host's Python does."""
    facts = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in _programs()]
    digest = hashlib.sha256(
        json.dumps([facts, LINKS, TEXTS, _stdlib().as_posix(), FORMAT]).encode()
    ).hexdigest()
    return f"molt-sandbox:{digest[:12]}"


def image_tar() -> bytes:
    """The image's files (about 50 MB)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in FOLDERS:
            folder = _entry(name, tarfile.DIRTYPE, 0o755)
            if name == "work":  # a tmpfs takes its owner and mode from the folder that it covers
                folder.uid, folder.gid, folder.mode = NOBODY, NOBODY, 0o700
            tar.addfile(folder)
        for name, target in LINKS.items():
            link = _entry(name, tarfile.SYMTYPE, 0o777)
            link.linkname = target
            tar.addfile(link)
        for name, text in TEXTS.items():
            _add_bytes(tar, name, text.encode(), 0o644, 0)
        for name, path in sorted(_files().items()):
            mode = 0o644 if path.suffix in (".py", ".pyc") else 0o755
            _add_bytes(tar, name, path.read_bytes(), mode, int(path.stat().st_mtime))
    return buffer.getvalue()


def _files() -> dict[str, Path]:
    """Name in the image -> the host's file; one library may have several names on the host."""
    stdlib = [
        path for path in _stdlib().rglob("*") if path.is_file() and not LEFT_OUT.search(path.as_posix())
    ]
    return {_inside(path): path for path in (*stdlib, *_libraries(), *_programs())}


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    return entry


def _add_bytes(tar: tarfile.TarFile, name: str, data: bytes, mode: int, time_s: int) -> None:
    entry = _entry(name, tarfile.REGTYPE, mode)
    entry.size, entry.mtime = len(data), time_s  # compiled modules name the time of their source
    tar.addfile(entry, io.BytesIO(data))


def _inside(path: Path) -> str:
    """Where a host file lies in the image, in which /bin and /lib are links into /usr."""
    name = path.as_posix().lstrip("/")
    return f"usr/{name}" if re.match(r"(bin|lib|lib64|sbin)/", name) else name


def _programs() -> list[Path]:
    found = [
        shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin") for name in COMMANDS.read_text().split()
    ]
    if not Path(PYTHON).exists() or found[0] is None:
        raise SandboxUnavailable(
            f"the image needs {PYTHON} and sh of the host; `apt-get install python3 dash`"
        )
    return [Path(PYTHON), *(Path(path) for path in found if path)]


def _stdlib() -> Path:
    code = "import sysconfig; print(sysconfig.get_paths()['stdlib'])"
    done = subprocess.run(
        [PYTHON, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    return Path(done.stdout.strip())


def _libraries() -> Iterator[Path]:
    """What the programs and Python's own extension modules load, the loader included."""
    modules = (_stdlib() / "lib-dynload").glob("*.so")
    argv = ["ldd", *(str(path) for path in (*_programs(), *modules))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    for name in set(re.findall(r"(/\S+\.so\S*) \(0x", done.stdout)):
        yield Path(name)
