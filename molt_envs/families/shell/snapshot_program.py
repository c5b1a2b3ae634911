"""Prints all files and links below the current folder as JSON. Runs in the sandbox, after the agent.

In: a folder that untrusted code arranged. Out: `{path: [kind, mode, content]}`, or null when it is too much.
Whatever lies there, it ends soon and without an error: nothing is followed, and all sizes have bounds.
"""

import json
import os
import stat
import zlib

MAX_FILE_BYTES = 65_536
MAX_UNPACKED_BYTES = 500_000
MAX_CHARS = 800_000
BLOCK = 512


def members(data: bytes) -> dict[str, str]:
    """The plain files of a tar archive, packed by gzip or not; none where it is neither."""
    if data[:2] == b"\x1f\x8b":
        unpacking = zlib.decompressobj(wbits=31)
        try:
            data = unpacking.decompress(data, MAX_UNPACKED_BYTES)
        except zlib.error:
            return {}
    found: dict[str, str] = {}
    at = 0
    while len(data) >= at + BLOCK and data[at + 257 : at + 262] == b"ustar":
        head = data[at : at + BLOCK]
        name, prefix = (part.partition(b"\0")[0] for part in (head[:100], head[345:500]))
        digits = head[124:136].strip(b" \0")
        if not digits.isdigit() or set(digits) & set(b"89"):
            break
        size = int(digits, 8)
        if head[156:157] in b"0\0":
            whole = prefix + b"/" + name if prefix and head[257:263] == b"ustar\0" else name
            found[os.path.normpath(os.fsdecode(whole))] = text(data[at + BLOCK : at + BLOCK + size])
        at += BLOCK + (size + BLOCK - 1) // BLOCK * BLOCK
    return found


def text(data: bytes) -> str:
    """Bytes as text that JSON takes, each different from all others."""
    return data.decode("utf-8", "surrogateescape")


def describe(path: str) -> list[object]:
    """Kind, permission bits and content."""
    try:
        status = os.lstat(path)
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode):
            target = os.path.join(os.path.dirname(os.path.abspath(path)), os.readlink(path))
            return ["link", 0, os.path.normpath(target)]
        if not stat.S_ISREG(status.st_mode):
            return ["special", mode, ""]
        if status.st_size > MAX_FILE_BYTES:
            return ["large", mode, str(status.st_size)]
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES)
    except OSError as error:
        return ["unreadable", 0, str(error.errno)]
    packed = members(data)
    return ["archive", mode, json.dumps(packed, sort_keys=True)] if packed else ["file", mode, text(data)]


def snapshot() -> str:
    """The whole tree; `null` when there is too much of it."""
    parts: list[str] = []
    num_chars, folders = 0, ["."]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            entries = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
                continue
            part = json.dumps(os.path.normpath(entry.path)) + ":" + json.dumps(describe(entry.path))
            num_chars += len(part)
            if num_chars > MAX_CHARS:
                return "null"
            parts.append(part)
    return "{" + ",".join(parts) + "}"


if __name__ == "__main__":
    print(snapshot())
