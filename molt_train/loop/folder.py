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
from typing import Any

from molt_envs import Episode
from molt_train.config import Config, config_to_toml
from molt_train.loop.actor import Actor
from molt_train.model.checkpoint import load_latest, save_checkpoint
from molt_train.model.random_state import capture_random_state, restore_random_state
from molt_train.monitor.environment import write_environment
from molt_train.monitor.jsonl import Scalar
from molt_train.monitor.progress import Progress
from molt_train.monitor.report import write_report
from molt_train.monitor.samples import make_sample, write_samples
from molt_train.monitor.tensorboard import TensorBoardSink
from molt_train.monitor.writer import MetricsWriter
from molt_train.rollout.usage import Waits

CHECKPOINTS, MODEL = "checkpoints", "model"


@dataclass(frozen=True)
class Restored:
    """Where a resumed run goes on."""

    step: int
    """Training steps done."""
    learner: dict[str, Any]
    """The learner's state."""
    collector: dict[str, Any]
    """Where the tasks stand, and the groups that were outstanding."""


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

    def restore(self) -> Restored | None:
        """Read the newest checkpoint and set the random generators back; None for a fresh run."""
        if self._checkpoint is None:
            return None
        state = self._checkpoint.state
        restore_random_state(state["random"])
        self._progress.say(f"going on from {self._checkpoint.path}")
        return Restored(self._checkpoint.step, state["learner"], state["collector"])

    def checkpoint(self, step: int, learner: Mapping[str, Any], collector: Mapping[str, Any]) -> None:
        """Write a checkpoint of everything that the next step depends on."""
        state = {"learner": dict(learner), "random": capture_random_state(), "collector": dict(collector)}
        save_checkpoint(self.path / CHECKPOINTS, step, state, self._config.run.keep_last)

    def record(
        self, step: int, values: Mapping[str, float], groups: Sequence[Mapping[str, Scalar]] = ()
    ) -> None:
        """Record one training step and the groups that it was on."""
        for group in groups:
            self._writer.write_group(step, group)
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
        self, start: float, sampled: float, end: float, waits: Waits, values: Mapping[str, float]
    ) -> dict[str, float]:
        """Clock values of a step that began at `start`, had its episodes at `sampled` and ended at `end`
        (monotonic s)."""
        wait_s, step_s = sampled - start, max(end - start, 1e-9)
        rollout_s = max(waits.wall_s - waits.no_episode_s, 1e-9)
        tokens = values.get("episode_tokens_mean", 0.0) * values["num_episodes"]
        return {
            "elapsed_s": end - self._start,
            "step_s": end - start,
            "rollout_s": rollout_s,
            "update_s": end - sampled,
            "tokens_per_s": tokens / step_s,
            "rollout_tokens_per_s": values["num_action_tokens"] / rollout_s,
            "episodes_per_s": values["num_episodes"] / step_s,
            "learner_waits_share": wait_s / step_s,
            "engine_waits_learner_share": waits.no_episode_s / max(waits.wall_s, 1e-9),
            "engine_waits_env_share": waits.no_turn_s / max(waits.wall_s, 1e-9),
            "episode_env_share": 1 - waits.turns_s / max(waits.episodes_s, 1e-9),
            "memory_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
