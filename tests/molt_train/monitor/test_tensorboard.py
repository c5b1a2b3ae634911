"""TensorBoard's event files."""

from __future__ import annotations

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from molt_train.monitor.tensorboard import TensorBoardSink
from molt_train.monitor.writer import MetricsWriter


def read(run_dir: Path) -> EventAccumulator:
    events = EventAccumulator(str(run_dir / "tensorboard"))
    events.Reload()
    return events


def test_numbers_arrive(tmp_path: Path) -> None:
    with MetricsWriter(tmp_path, sinks=(TensorBoardSink(tmp_path),)) as writer:
        writer.write(2, {"loss": 0.5})
    scalars = read(tmp_path).Scalars("loss")
    assert [(event.step, event.value) for event in scalars] == [(2, 0.5)]


def test_events_after_the_checkpoint_are_hidden_when_a_run_goes_on(tmp_path: Path) -> None:
    for resume_step, steps in ((None, (1, 2, 3)), (1, (2,))):
        sink = TensorBoardSink(tmp_path, resume_step)
        for step in steps:
            sink.write(step, {"loss": float(step)})
        sink.close()
    assert [event.step for event in read(tmp_path).Scalars("loss")] == [1, 2]
