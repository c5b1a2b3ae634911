"""Isolated Python snippets: speed beside a bare subprocess, and that 10,000 of them leave nothing.

In: nothing; needs root and bubblewrap (docker is measured where it runs). Out: three rows. The ways take
turns, one call or one second each, so that the machine's other load meets all of them alike.
"""

from __future__ import annotations

import gc
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

from benchmarks.report import record
from sandboxes import Limits, Sandbox, SandboxUnavailable, open_sandbox
from sandboxes.keeper import find_interpreter

NAME = "sandbox_speed"
CODE = "print(sum(range(1000)))"
ANSWER = b"499500\n"
NUM_ROUNDS = 150
NUM_WINDOWS, WINDOW_S, NUM_THREADS = 8, 1.0, 2
NUM_SNIPPETS, NUM_WARM_UP_SNIPPETS = 10_000, 500
HIGHEST_LATENCY_RATIO, LOWEST_THROUGHPUT_RATIO = 0.6, 2.0
MOST_GROWTH_BYTES = 4 * 2**20

Snippet = Callable[[], None]


def main() -> None:
    """Measure and record."""
    with ExitStack() as stack:
        ways = open_ways(stack)
        latencies_ms = measure_latencies(ways)
        rates = measure_rates(ways)
    report_speed(latencies_ms, rates)
    measure_growth()


def open_ways(stack: ExitStack) -> dict[str, Snippet]:
    """Name -> what runs one snippet; docker only where it works."""
    interpreter = find_interpreter()

    def bare() -> None:
        done = subprocess.run([interpreter, "-I", "-c", CODE], capture_output=True, timeout=60)
        assert done.stdout == ANSWER

    def in_fresh_sandbox() -> None:
        with open_sandbox("zygote") as sandbox:
            run(sandbox)

    ways: dict[str, Snippet] = {"bare": bare}
    for backend in ("zygote", "namespace", "docker"):
        try:
            sandbox = stack.enter_context(open_sandbox(backend, limits=Limits(wall_s=60)))
        except SandboxUnavailable as problem:
            if backend != "docker":
                raise
            print(f"docker is left out: {problem}")
            continue
        ways[backend] = lambda sandbox=sandbox: run(sandbox)
    ways["zygote_fresh"] = in_fresh_sandbox
    return ways


def run(sandbox: Sandbox) -> None:
    """One snippet, its answer checked."""
    result = sandbox.run_python(CODE)
    assert result.stdout == ANSWER, result


def measure_latencies(ways: dict[str, Snippet]) -> dict[str, list[float]]:
    """Milliseconds of each call, one way after the other in every round."""
    latencies_ms: dict[str, list[float]] = {name: [] for name in ways}
    for round_number in range(-3, NUM_ROUNDS):
        for name, way in ways.items():
            start_s = time.perf_counter()
            way()
            if round_number >= 0:
                latencies_ms[name].append((time.perf_counter() - start_s) * 1e3)
    return latencies_ms


def measure_rates(ways: dict[str, Snippet]) -> dict[str, float]:
    """Snippets per second with `NUM_THREADS` callers, each way in windows that take turns."""
    counts, seconds = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0.0)

    def call_until(way: Snippet, end_s: float) -> int:
        number = 0
        while time.perf_counter() < end_s:
            way()
            number += 1
        return number

    with ThreadPoolExecutor(NUM_THREADS) as pool:
        for _ in range(NUM_WINDOWS):
            for name, way in ways.items():
                start_s = time.perf_counter()
                calls = [pool.submit(call_until, way, start_s + WINDOW_S) for _ in range(NUM_THREADS)]
                counts[name] += sum(call.result() for call in calls)
                seconds[name] += time.perf_counter() - start_s
    return {name: counts[name] / seconds[name] for name in ways}


def report_speed(latencies_ms: dict[str, list[float]], rates: dict[str, float]) -> None:
    """Two rows, the details of all ways in both."""
    details: dict[str, object] = {
        name: {"p50_ms": median(values), "p95_ms": quantiles(values, n=20)[-1], "per_s": rates[name]}
        for name, values in latencies_ms.items()
    }
    details |= {"num_cores": os.cpu_count(), "load_1min": os.getloadavg()[0], "num_rounds": NUM_ROUNDS}
    ratio = median(latencies_ms["zygote"]) / median(latencies_ms["bare"])
    record(
        f"{NAME}.latency",
        f"the zygote's p50 at most {HIGHEST_LATENCY_RATIO:g} of a bare unisolated subprocess's",
        ratio,
        ratio <= HIGHEST_LATENCY_RATIO,
        details,
    )
    rate_ratio = rates["zygote"] / rates["bare"]
    record(
        f"{NAME}.throughput",
        f"the zygote at least {LOWEST_THROUGHPUT_RATIO:g} times the bare subprocess's, {NUM_THREADS} callers",
        rate_ratio,
        rate_ratio >= LOWEST_THROUGHPUT_RATIO,
        details,
    )


def measure_growth() -> None:
    """Ten thousand snippets in sandboxes of a hundred each; what driver and keeper hold before and after."""
    with open_sandbox("zygote") as first:
        for _ in range(NUM_WARM_UP_SNIPPETS):
            run(first)
        before = holdings()
        start_s = time.perf_counter()
        for _ in range(NUM_SNIPPETS // 100):
            with open_sandbox("zygote") as sandbox:
                for _ in range(100):
                    run(sandbox)
        seconds = time.perf_counter() - start_s
        after = holdings()
    growth_bytes = after["memory_bytes"] - before["memory_bytes"]
    same = all(after[name] == before[name] for name in ("num_descriptors", "num_processes", "num_groups"))
    record(
        f"{NAME}.growth",
        f"{NUM_SNIPPETS} snippets: same descriptors, processes, groups; +{MOST_GROWTH_BYTES} bytes at most",
        growth_bytes,
        same and growth_bytes <= MOST_GROWTH_BYTES,
        {"before": before, "after": after, "seconds": seconds},
    )


def holdings() -> dict[str, int]:
    """This process and all below it: how many, their descriptors, resident bytes and groups."""
    gc.collect()  # Connections to docker close when they are collected.
    pids = [os.getpid()]
    for pid in pids:
        pids += children(pid)
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return {
        "num_processes": len(pids),
        "num_descriptors": sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids),
        "memory_bytes": pages * os.sysconf("SC_PAGE_SIZE"),
        "num_groups": len(set(Path("/sys/fs/cgroup").rglob(f"molt-sandbox-*-{os.getpid()}-*"))),
    }


def children(pid: int) -> Iterable[int]:
    """Pids of a process's children, of all its threads."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]
