"""A run's folder: what is written where, and what a resumed run finds there.

In: the configuration and the run's numbers, episodes, states. Out: config.toml, environment.json, metrics,
evaluations, sample episodes, checkpoints, the trained model, the report.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from molt_envs import Episode
from molt_train.config import Config, config_to_toml
from molt_train.learner import Learner
from molt_train.loop.actor import Actor
from molt_train.model.checkpoint import load_latest, save_checkpoint
from molt_train.model.export import export_model
from molt_train.model.random_state import capture_random_state, restore_random_state
from molt_train.monitor.environment import write_environment
from molt_train.monitor.progress import Progress
from molt_train.monitor.report import write_report
from molt_train.monitor.samples import make_sample, write_samples
from molt_train.monitor.tensorboard import TensorBoardSink
from molt_train.monitor.writer import MetricsWriter

CHECKPOINTS, MODEL = "checkpoints", "model"


@dataclass(frozen=True)
class Restored:
    """Where a resumed run goes on."""

    step: int
    """Training steps done."""
    epoch: int
    """The task sampler's epoch."""
    position: int
    """Its position in the epoch."""


class RunFolder:
    """Use it in a `with` block; the report is written at its end, also after an error.

    Raises:
        ValueError: the folder holds a run and `run.resume` is false.
    """

    def __init__(self, config: Config, progress: Progress) -> None:
        self._config, self._progress = config, progress
        self.path = Path(config.run.dir)
        self._checkpoint = load_latest(self.path / CHECKPOINTS) if config.run.resume else None
        step = None if self._checkpoint is None else self._checkpoint.step
        if config.run.resume and step is None:
            step = -1
        sinks = (TensorBoardSink(self.path, step),) if config.run.tensorboard else ()
        self._writer = MetricsWriter(self.path, step, sinks)
        (self.path / "config.toml").write_text(config_to_toml(config), encoding="utf-8")
        write_environment(self.path)
        self._start = time.monotonic()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._writer.close()
        recorded = any((self.path / name).exists() for name in ("metrics.jsonl", "evals.jsonl"))
        if recorded and (kind is None or issubclass(kind, Exception | KeyboardInterrupt)):
            write_report(self.path)

    def restore(self, learner: Learner) -> Restored | None:
        """Load the newest checkpoint into the learner and the random generators; None for a fresh run."""
        if self._checkpoint is None:
            return None
        state = self._checkpoint.state
        learner.load_state(state["learner"])
        restore_random_state(state["random"])
        self._progress.say(f"going on from {self._checkpoint.path}")
        return Restored(self._checkpoint.step, state["sampler"]["epoch"], state["sampler"]["position"])

    def checkpoint(self, step: int, learner: Learner, sampler: Mapping[str, int]) -> None:
        """Write a checkpoint of everything that the next step depends on."""
        state = {"learner": learner.state(), "random": capture_random_state(), "sampler": dict(sampler)}
        save_checkpoint(self.path / CHECKPOINTS, step, state, self._config.run.keep_last)

    def export(self, actor: Actor) -> None:
        """Write the trained model in the Hugging Face format."""
        export_model(actor.model, actor.tokenizer, self.path / MODEL)

    def record(self, step: int, values: Mapping[str, float]) -> None:
        """Record one training step."""
        self._writer.write(step, values)
        self._progress.step(step, values)

    def record_evaluation(
        self, step: int, label: str, temperature: float, values: Mapping[str, float],
        episodes: Sequence[Episode], actor: Actor,
    ) -> None:  # fmt: skip
        """Record one evaluation, and keep a few of its episodes to look at."""
        self._writer.write_eval(step, label, temperature, values)
        self._progress.evaluation(step, label, temperature, values)
        chosen = [episode for episode in episodes if episode.segments][: self._config.run.num_samples]

        def decode(token_ids: Sequence[int]) -> str:
            return str(actor.tokenizer.decode(list(token_ids)))

        write_samples(self.path, [make_sample(step, label, episode, decode) for episode in chosen])

    def timings(
        self, start: float, sampled: float, end: float, values: Mapping[str, float]
    ) -> dict[str, float]:
        """Clock values of a step that began at `start`, had its episodes at `sampled` and ended at `end`
        (monotonic s)."""
        rollout_s = max(sampled - start, 1e-9)
        tokens = values.get("episode_tokens_mean", 0.0) * values["num_episodes"]
        return {
            "elapsed_s": end - self._start,
            "step_s": end - start,
            "rollout_s": rollout_s,
            "update_s": end - sampled,
            "tokens_per_s": tokens / max(end - start, 1e-9),
            "rollout_tokens_per_s": values["num_action_tokens"] / rollout_s,
            "episodes_per_s": values["num_episodes"] / rollout_s,
            "memory_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
