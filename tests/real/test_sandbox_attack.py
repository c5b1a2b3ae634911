"""Every attack on every backend for real, a driver killed in the middle, and refusals on lesser machines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from sandboxes import SandboxUnavailable, find_backend, open_sandbox
from sandboxes.__main__ import main
from sandboxes.attack import leftovers
from sandboxes.attack.catalogue import load_snippets
from sandboxes.attack.report import run_attack, table
from sandboxes.attack.witness import PREFIX
from sandboxes.docker_engine import LABEL, connect
from sandboxes.images.engine import running_engine

pytestmark = pytest.mark.real
BACKENDS = ("namespace", "zygote", "docker")


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The engine that runs here, or one started for these tests; with the image."""
    with pytest.MonkeyPatch.context() as patch:
        try:
            connect().api.close()
            assert main(["image"]) == 0
            yield os.environ.get("DOCKER_HOST", "")
        except SandboxUnavailable:
            with running_engine(tmp_path_factory.mktemp("engine")) as address:
                patch.setenv("DOCKER_HOST", address)
                assert main(["image"]) == 0
                yield address


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_attack_is_contained_and_nothing_is_left(backend: str) -> None:
    assert find_backend(backend).probe().capabilities.missing == ()
    report = run_attack(find_backend(backend), load_snippets())
    failed = [verdict for verdict in report.verdicts if verdict.status != "contained"]
    assert not failed, table(failed)
    assert report.left == ()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_driver_that_is_killed_in_the_middle_leaves_nothing(backend: str, tmp_path: Path) -> None:
    groups = "outlives the call,endless,fork bomb,ignored signals"
    argv = [sys.executable, "-m", "sandboxes", "attack", backend, "--only", groups]
    mounts = leftovers.mounts()
    driver = subprocess.Popen(argv, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        assert driver.stdout is not None
        for _ in range(3):
            assert driver.stdout.readline().startswith(b"contained")
        time.sleep(0.5)  # into the next attack
        below = leftovers.descendants(driver.pid)
        running = _inside(backend, driver.pid)
        assert below
        assert running
    finally:
        os.kill(driver.pid, signal.SIGKILL)
        driver.communicate()
    assert leftovers.settle(lambda: leftovers.still_alive(below), 15) == []
    if backend == "docker":  # one that was made and not yet started waits for the next start
        assert leftovers.settle(lambda: _inside(backend, driver.pid, ("running", "paused")), 15) == []
    assert main(["attack", backend, "--only", "vsock"]) == 0
    assert leftovers.files_named(f"{PREFIX}{driver.pid}-") == []
    with open_sandbox(backend) as sandbox:  # the next start removes what only a living process can
        assert sandbox.run_python("print(6 * 7)").stdout == b"42\n"
    assert leftovers.settle(lambda: _inside(backend, driver.pid), 15) == []
    assert leftovers.settle(lambda: sorted(leftovers.mounts() - mounts), 15) == []


STATES = ("created", "running", "paused", "exited", "dead")


def _inside(backend: str, pid: int, states: tuple[str, ...] = STATES) -> list[str]:
    """What the backend has on the host in that driver's name: control groups, or containers."""
    if backend != "docker":
        return leftovers.cgroups_of(pid)
    engine = connect()
    found = engine.api.containers(all=True, filters={"label": LABEL})
    engine.api.close()
    ours = [each for each in found if each["Labels"][LABEL].split(":")[1] == str(pid)]
    return [each["Id"] for each in ours if each["State"] in states]


@pytest.mark.parametrize(
    ("backend", "says"), [("namespace", "Run as root"), ("docker", "no Docker Engine answers")]
)
def test_an_ordinary_user_is_refused_untrusted_code(backend: str, says: str) -> None:
    find_backend(backend).probe()  # what it imports may not be readable for others
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            open_sandbox(backend)
            os.write(writer, b"opened")
        except SandboxUnavailable as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as told:
        answer = told.read()
    os.waitpid(child, 0)
    assert says in answer


@pytest.mark.parametrize(
    ("lacking", "says"),
    [
        ("mount --bind /dev/null $(command -v bwrap)", "needs bwrap, which is not installed"),
        ("umount -l -a -t cgroup,cgroup2", "does not hold memory_total, num_processes here"),
    ],
)
def test_without_bubblewrap_or_control_groups_untrusted_code_is_refused(lacking: str, says: str) -> None:
    code = "from sandboxes import open_sandbox; open_sandbox('namespace')"
    script = f'{lacking} || exit 3; exec "$0" -c "$1"'
    argv = ["unshare", "--mount", "sh", "-c", script, sys.executable, code]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done
    assert says in done.stderr
