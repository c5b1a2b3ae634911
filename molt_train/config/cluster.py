"""Section `cluster`: which parts run as Ray actors, and where. In: TOML values. Out: `ClusterConfig`."""

from __future__ import annotations

from pydantic import Field

from molt_train.config.base import Section


class ClusterConfig(Section):
    """Engines, environments and the learner beyond one process. Off: all in one process, without Ray."""

    enabled: bool = False
    """Run engines, environment hosts and the learner as Ray actors."""
    address: str = Field(default="local", min_length=1)
    """`local` starts Ray on this machine; `auto` or `host:port` joins a cluster that runs."""
    num_engines: int = Field(default=1, ge=1, le=4096)
    """Rollout engines; an episode stays with one."""
    num_env_hosts: int = Field(default=1, ge=1, le=4096)
    """Actors that hold the environments' worker processes (`rollout.num_env_workers` in each)."""
    roles: bool = False
    """Put actors on nodes started with the resources `molt_engine`, `molt_env` and `molt_learner`."""
    call_timeout_s: float = Field(default=600.0, gt=0, le=86_400)
    """Bound of one call of an actor in seconds, beside the bounds of what it does."""
    rejoin_timeout_s: float = Field(default=600.0, gt=0, le=86_400)
    """How long a part is waited for whose node is gone, in seconds."""
