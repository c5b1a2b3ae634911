"""What a run ran on: versions and machine, for the report. In: nothing. Out: `environment.json`."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from pathlib import Path

FILE = "environment.json"
_PACKAGES = ("molt-rl", "torch", "transformers", "tokenizers", "numpy", "gymnasium", "vllm")


def describe_environment() -> dict[str, str]:
    """Versions of what matters, processor and threads; no paths and no names of people or machines."""
    found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    found["processor"] = _processor()
    found["cores"] = str(os.cpu_count())
    found["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "not set")
    return found


def write_environment(run_dir: Path) -> None:
    """Write `environment.json`."""
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / FILE).write_text(json.dumps(describe_environment(), indent=1) + "\n", encoding="utf-8")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown"
