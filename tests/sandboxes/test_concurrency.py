"""Many sandboxes at once and many calls one after the other: nobody waits for a hang, and nothing grows."""

from __future__ import annotations

import gc
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandboxes import ExecResult, Limits, open_sandbox

pytestmark = pytest.mark.real
NUM_EPISODES, HANG_EVERY, HANG_TIMEOUT_S = 64, 10, 4.0


def count_descriptors() -> int:
    gc.collect()  # what earlier tests left to the collector is not this one's
    return len(os.listdir("/proc/self/fd"))


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("backend", ["namespace", "zygote"])
def test_episodes_that_hang_end_at_their_own_time_out_and_no_other_is_touched(backend: str) -> None:
    everyone_is_open = threading.Barrier(NUM_EPISODES, timeout=300)

    def episode(number: int) -> ExecResult:
        hangs = number % HANG_EVERY == 0
        with open_sandbox(backend, limits=Limits(wall_s=120)) as sandbox:
            everyone_is_open.wait()
            sandbox.write_file("number", str(number).encode())
            code = "while True: pass" if hangs else "print(int(open('number').read()) ** 2)"
            return sandbox.run_python(code, timeout_s=HANG_TIMEOUT_S if hangs else None)

    before = count_descriptors()
    with ThreadPoolExecutor(NUM_EPISODES) as pool:
        results = list(pool.map(episode, range(NUM_EPISODES)))
    for number, result in enumerate(results):
        if number % HANG_EVERY == 0:
            assert result.timed_out
            assert HANG_TIMEOUT_S <= result.wall_s < HANG_TIMEOUT_S + 15
        else:
            assert result.stdout == f"{number**2}\n".encode()
    assert count_descriptors() == before


def test_300_snippets_leave_descriptors_processes_and_memory_as_they_were() -> None:
    code = "import os\nif os.fork() == 0: os.setsid()\nprint(open('x', 'a').write('y' * 100))"
    with open_sandbox("zygote") as sandbox:
        for _ in range(30):
            assert sandbox.run_python(code).exit_code == 0
        descriptors, memory_bytes, threads = count_descriptors(), resident_bytes(), threading.active_count()
        for _ in range(300):
            assert sandbox.run_python(code).exit_code == 0
        assert count_descriptors() == descriptors
        assert threading.active_count() == threads
        assert resident_bytes() - memory_bytes < 2 * 2**20
        assert sandbox.run_python("import os; print(len(os.listdir('/proc/self/fd')))").stdout == b"4\n"


def test_opening_and_closing_leaves_no_descriptor() -> None:
    with open_sandbox("zygote"):
        before = count_descriptors()
        for _ in range(30):
            with open_sandbox("zygote") as sandbox:
                sandbox.start(["cat"])
        assert count_descriptors() == before


def test_a_thread_that_started_a_process_may_end_without_ending_it() -> None:
    with open_sandbox() as sandbox, ThreadPoolExecutor(1) as pool:
        process = pool.submit(sandbox.start, ["cat"]).result()
        pool.shutdown()
        time.sleep(0.2)
        process.send(b"still here\n")
        assert process.receive_line(10) == b"still here\n"
