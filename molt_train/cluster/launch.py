"""Ray itself: started here or joined, with what actors need, and ended with the run.

In: section `cluster`. Out: a connection for as long as the block runs, and options that place an actor.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

from molt_train.config.cluster import ClusterConfig
from molt_train.reaper import reaping

Role = Literal["engine", "env", "learner"]
OBJECT_STORE_BYTES = 256 << 20
"""Of a local Ray: one version of a small policy at a time goes through it."""
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "1",
}
_ROLE_SHARE = 0.001
"""Of a node's role resource; it says where, not how many."""


@contextmanager
def connected(config: ClusterConfig) -> Generator[None]:
    """Ray runs and this process is connected. A local one listens on the loopback interface alone.

    Raises:
        ValueError: Ray is missing, or no cluster answers at `cluster.address`.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ValueError("cluster.enabled needs Ray: pip install 'molt-rl[ray]'") from error
    options: dict[str, Any] = {"address": config.address}
    if config.address == "local":
        options |= {"object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
        options |= {"_node_ip_address": "127.0.0.1", "resources": _local_roles()}
    owned = reaping() if config.address == "local" else nullcontext()
    environment = {"env_vars": {"PYTHONPATH": str(Path(__file__).parents[2]), **_thread_settings()}}
    with owned:
        try:
            ray.init(log_to_driver=False, runtime_env=environment, **options)
        except (ConnectionError, RuntimeError) as error:
            raise ValueError(f"no Ray at cluster.address = {config.address!r}: {error}") from error
        try:
            yield
        finally:
            ray.shutdown()


def placed(config: ClusterConfig, role: Role) -> dict[str, Any]:
    """Options of an actor: on a node of its role, where `cluster.roles` says so."""
    options: dict[str, Any] = {"num_cpus": 0}
    if config.roles:
        options["resources"] = {f"molt_{role}": _ROLE_SHARE}
    return options


def _local_roles() -> dict[str, float]:
    return {f"molt_{role}": 1.0 for role in ("engine", "env", "learner")}


def _thread_settings() -> dict[str, str]:
    """What libraries read when they are loaded; every actor has the driver's."""
    names = ("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "HF_HUB_OFFLINE")
    return {name: os.environ[name] for name in names if name in os.environ}
