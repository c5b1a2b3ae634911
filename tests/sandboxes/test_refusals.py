"""Machines that hold less, made for real: without bubblewrap, without control groups, without root."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real
CHECKOUT = Path(__file__).resolve().parents[2]
OPEN_UNTRUSTED = """
import sys
sys.path.insert(0, sys.argv[1])
from sandboxes import SandboxUnavailable, open_sandbox
for backend in ("namespace", "zygote"):
    try:
        open_sandbox(backend)
        print("opened")
    except SandboxUnavailable as error:
        print(error)
"""
RUN_TRUSTED = """
import sys
sys.path.insert(0, sys.argv[1])
from sandboxes import SandboxUnavailable, open_sandbox
try:
    sandbox = open_sandbox(trust="trusted")
except SandboxUnavailable as error:
    sys.exit(print(error))
with sandbox:
    sandbox.write_file("given", b"text")
    result = sandbox.run(["sh", "-c", "cat given; ls /home /var; exit 3"])
    print(result.exit_code, result.stdout, sandbox.capabilities.missing)
    print(sandbox.run(["sleep", "60"], timeout_s=0.5).timed_out, sandbox.run_python("print(6 * 7)").stdout)
"""
RESTRICTION = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
HIDE_BUBBLEWRAP = "mount --bind /dev/null $(command -v bwrap)"
HIDE_GROUPS = "for m in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do umount -l $m || exit 1; done"


def run_after(shell: str, program: str) -> list[str]:
    """The lines that a program prints on a machine that `shell` has changed, for it alone."""
    command = ["unshare", "--mount", "sh", "-c", shell + ' && exec "$@"', "sh"]
    command += [sys.executable, "-c", program, str(CHECKOUT)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def run_as_ordinary_user(program: str) -> list[str]:
    """The lines that a program prints for a user who is not root, by a Python that this user may execute."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-c", program, str(CHECKOUT)]
        options = {"user": 12345, "group": 12345, "extra_groups": [], "cwd": "/"}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload]
        except PermissionError:
            continue
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()
    raise AssertionError("an ordinary user can execute no Python here")


def test_without_bubblewrap_the_refusal_says_how_to_install_it() -> None:
    lines = run_after(HIDE_BUBBLEWRAP, OPEN_UNTRUSTED)
    assert len(lines) == 2
    assert all("needs bwrap" in line and "apt-get install bubblewrap" in line for line in lines)


def test_without_control_groups_untrusted_code_is_refused_with_the_reason() -> None:
    lines = run_after(HIDE_GROUPS, OPEN_UNTRUSTED)
    assert len(lines) == 2
    assert all("does not hold memory_total, num_processes" in line for line in lines)
    assert all("no control groups are mounted" in line for line in lines)


def test_without_control_groups_trusted_code_still_runs() -> None:
    lines = run_after(HIDE_GROUPS, RUN_TRUSTED)
    assert lines == ["3 b'text' ('memory_total', 'num_processes')", "True b'42\\n'"]


def test_an_ordinary_user_is_refused_for_untrusted_code() -> None:
    namespace, zygote = run_as_ordinary_user(OPEN_UNTRUSTED)
    assert "does not hold memory_total, num_processes, unprivileged_uid" in namespace
    assert "Run as root" in namespace
    assert "needs root" in zygote


def test_an_ordinary_user_can_run_trusted_code_where_user_namespaces_are_allowed() -> None:
    lines = run_as_ordinary_user(RUN_TRUSTED)
    if RESTRICTION.exists() and RESTRICTION.read_text().strip() == "1":
        assert "allow user namespaces" in lines[0]
        return
    assert lines == ["3 b'text' ('memory_total', 'num_processes', 'unprivileged_uid')", "True b'42\\n'"]
