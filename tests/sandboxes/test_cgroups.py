"""Control groups on fake trees of both versions: where they go, what is written, what the dead leave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandboxes import Limits, SandboxUnavailable
from sandboxes.cgroups import ControlGroup, Hierarchy, find_hierarchy, remove_stale_groups

LIMITS = Limits(memory_bytes=64 * 2**20, disk_bytes=2**20, num_processes=20)


def fake_proc(tmp_path: Path, mounts: list[str], cgroup: str) -> Path:
    """A /proc/self with those mounts, `ROOT POINT KIND OPTIONS` each."""
    lines: list[str] = []
    for mount in mounts:
        root, point, kind, options = mount.split()
        lines.append(f"30 20 0:26 {root} {tmp_path}/{point} rw,nosuid shared:9 - {kind} {kind} {options}")
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "mountinfo").write_text(
        "22 1 8:1 / / rw - ext4 /dev/root rw\n" + "".join(f"{line}\n" for line in lines)
    )
    (proc / "cgroup").write_text(cgroup)
    return proc


def version_2_folder(path: Path, controllers: str = "cpu memory pids", enabled: str = "") -> Path:
    path.mkdir(parents=True)
    (path / "cgroup.controllers").write_text(controllers + "\n")
    (path / "cgroup.subtree_control").write_text(enabled + "\n")
    return path


def test_version_1_groups_lie_below_the_own_group_of_each_controller(tmp_path: Path) -> None:
    (tmp_path / "mem/job").mkdir(parents=True)
    (tmp_path / "pid").mkdir()
    mounts = ["/ mem cgroup rw,memory", "/ pid cgroup rw,pids", "/ uni cgroup2 rw"]
    proc = fake_proc(tmp_path, mounts, "4:memory:/job\n3:pids:/\n0::/\n")
    assert find_hierarchy(proc) == Hierarchy(1, (tmp_path / "mem/job", tmp_path / "pid"))


def test_version_1_in_a_container_uses_the_mount_when_the_own_path_lies_outside(tmp_path: Path) -> None:
    (tmp_path / "mem").mkdir()
    (tmp_path / "pid").mkdir()
    mounts = ["/docker/1 mem cgroup rw,memory", "/docker/1 pid cgroup rw,pids"]
    proc = fake_proc(tmp_path, mounts, "4:memory:/docker/1\n3:pids:/docker/1\n")
    assert find_hierarchy(proc).parents == (tmp_path / "mem", tmp_path / "pid")


def test_version_2_enables_the_controllers_where_they_are_off(tmp_path: Path) -> None:
    folder = version_2_folder(tmp_path / "cg")
    proc = fake_proc(tmp_path, ["/ cg cgroup2 rw"], "0::/\n")
    assert find_hierarchy(proc) == Hierarchy(2, (folder,))
    assert (folder / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_version_2_climbs_to_the_nearest_group_with_both_controllers(tmp_path: Path) -> None:
    version_2_folder(tmp_path / "cg", enabled="memory pids")
    slice_folder = version_2_folder(tmp_path / "cg/user.slice", enabled="cpu memory pids")
    version_2_folder(tmp_path / "cg/user.slice/shell.scope", controllers="cpu")
    proc = fake_proc(tmp_path, ["/ cg cgroup2 rw"], "0::/user.slice/shell.scope\n")
    assert find_hierarchy(proc) == Hierarchy(2, (slice_folder,))


def test_version_2_without_controllers_is_refused_with_the_reason(tmp_path: Path) -> None:
    version_2_folder(tmp_path / "cg", controllers="cpu memory")
    proc = fake_proc(tmp_path, ["/ cg cgroup2 rw"], "0::/\n")
    with pytest.raises(SandboxUnavailable, match=r"no pids controller.*run as root"):
        find_hierarchy(proc)


def test_a_machine_without_control_groups_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="no control groups are mounted"):
        find_hierarchy(fake_proc(tmp_path, [], ""))


def test_the_limits_are_written_and_a_group_has_a_folder_in_each_hierarchy(tmp_path: Path) -> None:
    for name in ("mem", "pid"):
        (tmp_path / name).mkdir()
    group = ControlGroup.create(Hierarchy(1, (tmp_path / "mem", tmp_path / "pid")), LIMITS)
    memory, pids = group.folders
    assert (memory / "memory.limit_in_bytes").read_text() == str(65 * 2**20)
    assert (pids / "pids.max").read_text() == "21"  # The starter of its calls counts too.
    assert group.procs_files == (memory / "cgroup.procs", pids / "cgroup.procs")


def test_version_2_limits_are_written_to_the_one_folder(tmp_path: Path) -> None:
    group = ControlGroup.create(Hierarchy(2, (tmp_path,)), LIMITS)
    assert (group.folders[0] / "memory.max").read_text() == str(65 * 2**20)
    assert (group.folders[0] / "pids.max").read_text() == "21"


def test_kills_at_the_memory_limit_are_counted_in_both_versions(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("low 0\nmax 7\noom 3\noom_kill 2\n")
    (tmp_path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    assert ControlGroup(2, (tmp_path,)).count_oom_kills() == 2
    assert ControlGroup(1, (tmp_path,)).count_oom_kills() == 1


def test_a_process_that_this_namespace_cannot_see_is_not_taken_for_ourselves(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("0\n0\n")
    ControlGroup(1, (tmp_path,)).kill()


def test_version_2_is_killed_by_its_kill_file(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        (tmp_path / "cgroup.procs").write_text(f"{process.pid}\n")
        (tmp_path / "cgroup.kill").write_text("")
        clear = f"import os,time\nwhile not open({str(tmp_path / 'cgroup.kill')!r}).read(): time.sleep(.01)\n"
        clear += f"open({str(tmp_path / 'cgroup.procs')!r}, 'w').close()"
        with subprocess.Popen([sys.executable, "-c", clear]):
            ControlGroup(2, (tmp_path,)).kill()
    assert (tmp_path / "cgroup.kill").read_text() == "1"
    assert process.returncode == -9


def test_groups_of_a_dead_driver_are_removed_and_those_of_a_live_one_are_not(tmp_path: Path) -> None:
    namespace = os.stat("/proc/self/ns/pid").st_ino
    with subprocess.Popen(["true"]) as dead:
        pass
    for name in (f"{namespace}-{dead.pid}-77-0", f"{namespace}-{os.getpid()}-1-0", f"1-{dead.pid}-77-0"):
        (tmp_path / f"molt-sandbox-{name}").mkdir()
    mine = ControlGroup.create(Hierarchy(2, (tmp_path,)), LIMITS)
    (tmp_path / "others").mkdir()
    assert remove_stale_groups(Hierarchy(2, (tmp_path,))) == 2
    assert {path.name for path in tmp_path.iterdir()} == {
        mine.folders[0].name,
        "others",
        f"molt-sandbox-1-{dead.pid}-77-0",
    }


@pytest.mark.real
def test_a_real_version_2_group_is_killed_and_removed() -> None:
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    point = next(Path(line.split()[1]) for line in mounts if line.split()[2] == "cgroup2")
    group = ControlGroup(2, (point / f"molt-test-{os.getpid()}",))
    group.folders[0].mkdir()
    with subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 1000 & wait"]) as process:
        group.procs_files[0].write_text(str(process.pid))
        group.kill()
    group.remove()
    assert process.returncode == -9
    assert not group.folders[0].exists()
