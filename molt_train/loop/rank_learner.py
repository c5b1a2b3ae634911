"""One process of those that train a model together; the only one where there is just one.

In: the configuration and a place in the grid. Out: what `LearnerClient` asks for. All processes are called
alike and together; process 0 has the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from molt_train.config import Config
from molt_train.learner import Learner
from molt_train.loop.actor import load_policy
from molt_train.model.export import export_model
from molt_train.model.load import load_tokenizer
from molt_train.model.ranks import join, leave
from molt_train.rewards import Graded
from molt_train.weight_sync import PublishedWeights, WeightPublisher


class RankLearner:
    """Joins the others and loads its part of the model.

    Args:
        config: the run's.
        rank: its number among the processes of the grid.
        address: `host:port` on which process 0 is found; not read where there is only one.

    Raises:
        ValueError: the grid does not fit the model.
    """

    def __init__(self, config: Config, rank: int = 0, address: str = "") -> None:
        torch.manual_seed(config.train.seed)
        self._config, self._rank = config, rank
        ranks = join(config.parallel, rank, address)
        needs_reference = config.algorithm.kl_coef > 0 and ranks.num_processes > 1
        reference = load_policy(config, config.parallel) if needs_reference else None
        model = load_policy(config, config.parallel)
        self._learner = Learner(model, config, ranks=ranks, reference=reference)
        self._publisher = WeightPublisher()

    def train_step(self, graded: Sequence[Graded]) -> dict[str, float]:
        """One update; gives its metrics."""
        return self._learner.train_step(graded)

    def publish(self) -> PublishedWeights | None:
        """The weights as a file on process 0's node."""
        model = self._learner.model
        if self._rank == 0:
            return self._publisher.publish(model, self._learner.policy_version)
        self._publisher.take_part(model)
        return None

    def state(self) -> dict[str, Any] | None:
        """What a checkpoint needs."""
        state = self._learner.state()
        return state if self._rank == 0 else None

    def load_state(self, state: dict[str, Any]) -> int:
        """Go on from `state()`; gives the version."""
        self._learner.load_state(state)
        return self._learner.policy_version

    def export(self, folder: Path) -> None:
        """Write the model in the Hugging Face format."""
        export_model(
            self._learner.model, load_tokenizer(self._config.model.path), folder, is_writer=self._rank == 0
        )

    def close(self) -> None:
        """Leave the others and remove published weights; idempotent."""
        self._publisher.close()
        leave()


METHODS: dict[str, Callable[..., Any]] = {
    "train_step": RankLearner.train_step,
    "publish": RankLearner.publish,
    "state": RankLearner.state,
    "load_state": RankLearner.load_state,
    "export": RankLearner.export,
}
"""What a process is asked for, by name."""
