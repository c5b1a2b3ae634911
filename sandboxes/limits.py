"""What a sandbox may use: in, plain numbers; out, `Limits`, checked, which every backend enforces."""

from __future__ import annotations

from dataclasses import dataclass, fields

MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """Bounds of one sandbox. All are hard; reaching one is the doing of the code inside."""

    wall_s: float = 10.0
    """Seconds that one call may take, its start included; a call may ask for less or more by `timeout_s`."""
    cpu_s: int = 10
    """Seconds of processor time per process."""
    memory_bytes: int = 256 * MIB
    """Memory of all processes together; the work folder's `disk_bytes` come on top of it."""
    num_processes: int = 64
    """Processes and threads alive at once, a few of the sandbox's own among them."""
    disk_bytes: int = 64 * MIB
    """Bytes of all files in the work folder and in /tmp together; also the largest single file."""
    num_files: int = 4096
    """Files, folders and links (inodes) in the work folder and in /tmp together."""
    output_bytes: int = 1 * MIB
    """Bytes kept of stdout, and as many of stderr; at more the stream is closed, as `head -c` does."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value: float = vars(self)[field.name]
            if not 0 < value < 2**50:
                raise ValueError(f"Limits.{field.name} is {value!r}; give a number above 0 and below 2**50")
        for name, lowest in (("num_processes", 8), ("memory_bytes", 32 * MIB)):
            if (value := vars(self)[name]) < lowest:
                raise ValueError(f"Limits.{name} is {value}; give at least {lowest}: nothing starts in less")
