"""Section `run`: where a run is kept. In: TOML values. Out: `RunConfig`."""

from __future__ import annotations

from pydantic import Field

from molt_train.config.base import Section


class RunConfig(Section):
    """Folder, checkpoints and records of a run."""

    dir: str = Field(default="runs/latest", min_length=1)
    """Folder of the run: configuration, metrics, checkpoints, report."""
    checkpoint_every: int = Field(default=0, ge=0, le=10_000_000)
    """Training steps between checkpoints; 0 writes one at the end only."""
    keep_last: int = Field(default=2, ge=1, le=10_000)
    """Checkpoints that are kept; with two, a run goes on from the older one when the newer is damaged."""
    tensorboard: bool = False
    """Write TensorBoard's event files as well."""
    resume: bool = False
    """Go on from the newest intact checkpoint in `run.dir`; without it a folder in use is an error."""
    num_samples: int = Field(default=4, ge=0, le=1000)
    """Episodes of each evaluation that are kept for the report and the token inspector."""
