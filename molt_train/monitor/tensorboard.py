"""TensorBoard as a sink of numbers. In: steps and values. Out: event files in `run_dir/tensorboard`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class TensorBoardSink:
    """Writes event files; torch and tensorboard are imported when one is made.

    Args:
        run_dir: the run's folder.
        resume_step: events after this step are hidden when a run goes on.

    Raises:
        ValueError: the package tensorboard is not installed.
    """

    def __init__(self, run_dir: Path, resume_step: int | None = None) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError as error:
            raise ValueError(
                f"run.tensorboard needs the package tensorboard ({error}); install it, or set it to false"
            ) from error
        purge_step = None if resume_step is None else resume_step + 1
        self._writer = SummaryWriter(str(run_dir / "tensorboard"), purge_step=purge_step)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """See `Sink.write`."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, global_step=step)

    def close(self) -> None:
        """See `Sink.close`."""
        self._writer.close()
