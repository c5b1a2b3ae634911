"""Environments in processes of their own: one that crashes, hangs or leaks costs its episodes, not the run.

In: how to make an environment. Out: `WorkerPool`, whose environments are stepped like any other.
"""

from molt_envs.workers.pool import START_TIMEOUT_S, WorkerEnv, WorkerPool

__all__ = ["START_TIMEOUT_S", "WorkerEnv", "WorkerPool"]
