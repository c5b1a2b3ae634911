"""Threads of each process that computes, from the cores at hand: more of them than cores make all of them
crawl.

In: how many processes compute at the same time. Out: torch and what is started from here use so many threads.
"""

from __future__ import annotations

import os

import torch

VARIABLE = "OMP_NUM_THREADS"


def share_cores(num_processes: int) -> int:
    """Divide the cores unless `OMP_NUM_THREADS` is set; gives the threads of one process, and sets the
    variable for those that are started later."""
    given = os.environ.get(VARIABLE, "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    num_threads = max(1, len(os.sched_getaffinity(0)) // num_processes)
    os.environ[VARIABLE] = str(num_threads)
    torch.set_num_threads(num_threads)
    return num_threads
