"""A machine that cannot hold untrusted code, made for real: the environments are refused with the mend."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

CHECKOUT = Path(__file__).parents[4]
HIDE_BUBBLEWRAP = "mount --bind /dev/null $(command -v bwrap)"
HIDE_GROUPS = "for m in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do umount -l $m || exit 1; done"
MAKE = """
import sys
sys.path.insert(0, sys.argv[1])
import gymnasium
from sandboxes import SandboxUnavailable
for env_id in ("molt/PythonTool-v0", "molt/Shell-v0"):
    try:
        gymnasium.make("molt_envs:" + env_id)
        print("made")
    except SandboxUnavailable as error:
        print(error)
"""
REASONS = {
    "bubblewrap": (HIDE_BUBBLEWRAP, "needs bwrap, which is not installed", "apt-get install bubblewrap"),
    "control groups": (
        HIDE_GROUPS,
        "does not hold memory_total, num_processes",
        "no control groups are mounted",
    ),
}


@pytest.mark.parametrize(("hide", "reason", "mend"), REASONS.values(), ids=REASONS)
def test_making_it_fails_with_the_reason_and_the_mend(hide: str, reason: str, mend: str) -> None:
    command = ["unshare", "--mount", "sh", "-c", f'{hide} && exec "$@"', "sh"]
    command += [sys.executable, "-c", MAKE, str(CHECKOUT)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(reason in line and mend in line for line in lines), lines
