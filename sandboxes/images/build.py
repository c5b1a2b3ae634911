"""The image of the docker backend: in, the host's own files; out, a tar that the engine imports. No registry.

It holds a system Python with its standard library, a shell and the usual small commands, with the libraries
that they load.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from sandboxes.base import SandboxUnavailable
from sandboxes.docker_engine import connect

COMMANDS = Path(__file__).parent / "commands.txt"
"""The commands that the image holds, of those that the host has."""
PYTHON = "/usr/bin/python3"
STDLIB = Path("/usr/lib")
LEFT_OUT = re.compile(
    r"/(test|idlelib|ensurepip|lib2to3|tkinter|turtledemo|(dist|site)-packages|config-[^/]*)/"
)
OWN_FILES = Path(__file__).parent / "root"
"""Laid over the host's files."""
NOBODY = 65534
FOLDERS = ("dev", "etc", "proc", "run", "sys", "usr/bin", "work")
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/bin", "tmp": "work"}


def image_name() -> str:
    """The image's name, with a digest of what goes into it: it changes when the host's programs do."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in _programs():
        digest.update(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode())
    for path in sorted(OWN_FILES.rglob("*")):
        digest.update(path.read_bytes() if path.is_file() else path.name.encode())
    return f"molt-sandbox:{digest.hexdigest()[:12]}"


def ensure_image() -> str:
    """Make the image on the engine that is used here, unless it has it; out: its name."""
    engine = connect()
    repository, _, tag = image_name().partition(":")
    if not engine.api.images(image_name()):
        engine.api.import_image_from_data(image_tar(), repository=repository, tag=tag)
    engine.api.close()
    return image_name()


def image_tar() -> bytes:
    """The image's files (about 50 MB)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in FOLDERS:
            folder = _entry(name, tarfile.DIRTYPE, 0o755)
            if name == "work":  # a tmpfs takes its mode from the folder that it covers
                folder.uid, folder.gid, folder.mode = NOBODY, NOBODY, 0o700
            tar.addfile(folder)
        for name, target in LINKS.items():
            link = _entry(name, tarfile.SYMTYPE, 0o777)
            link.linkname = target
            tar.addfile(link)
        for name, path in sorted(_files().items()):
            entry = _entry(name, tarfile.REGTYPE, 0o644 if path.suffix in (".py", ".pyc") else 0o755)
            data = path.read_bytes()
            entry.size, entry.mtime = (
                len(data),
                int(path.stat().st_mtime),
            )  # .pyc files name their source's time
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _files() -> dict[str, Path]:
    """Name in the image -> the host's file; one library may have several names on the host."""
    found = [*_stdlib().rglob("*"), *_libraries(), *_programs()]
    files = {_inside(path): path for path in found if path.is_file() and not LEFT_OUT.search(path.as_posix())}
    own = {str(path.relative_to(OWN_FILES)): path for path in OWN_FILES.rglob("*") if path.is_file()}
    return files | own


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    return entry


def _inside(path: Path) -> str:
    """Where a host file lies in the image, in which /bin and /lib are links into /usr."""
    name = path.as_posix().lstrip("/")
    return f"usr/{name}" if re.match(r"(bin|lib|lib64|sbin)/", name) else name


def _programs() -> list[Path]:
    names = COMMANDS.read_text().split()
    found = [Path(path) for name in names if (path := shutil.which(name, path="/usr/bin:/bin"))]
    if not Path(PYTHON).exists() or not _stdlib().is_dir():
        raise SandboxUnavailable(f"the image needs {PYTHON} and {_stdlib()}; `apt-get install python3`")
    return [Path(PYTHON), *found]


def _stdlib() -> Path:
    return STDLIB / Path(PYTHON).resolve().name


def _libraries() -> list[Path]:
    """What the programs and Python's own extension modules load, the loader included."""
    modules = (_stdlib() / "lib-dynload").glob("*.so")
    argv = ["ldd", *(str(path) for path in (*_programs(), *modules))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    return [Path(name) for name in set(re.findall(r"(/\S+\.so\S*) \(0x", done.stdout))]
