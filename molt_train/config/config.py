"""The whole configuration: one attribute per section. In: validated sections. Out: `Config`."""

from __future__ import annotations

from pydantic import Field, model_validator

from molt_train.config.algorithm import AlgorithmConfig
from molt_train.config.base import Section
from molt_train.config.cluster import ClusterConfig
from molt_train.config.env import EnvConfig
from molt_train.config.evaluation import EvalConfig
from molt_train.config.model import ModelConfig
from molt_train.config.optimizer import OptimizerConfig
from molt_train.config.parallel import ParallelConfig
from molt_train.config.rollout import RolloutConfig
from molt_train.config.run import RunConfig
from molt_train.config.sft import SftConfig
from molt_train.config.train import TrainConfig


class Config(Section):
    """A recipe with its overrides. `model` and `env` have no defaults."""

    model: ModelConfig
    """Which language model is trained."""
    env: EnvConfig
    """Which environment it is trained on."""
    rollout: RolloutConfig = Field(default_factory=RolloutConfig)
    """How episodes are sampled."""
    algorithm: AlgorithmConfig = Field(default_factory=AlgorithmConfig)
    """The objective."""
    optimizer: OptimizerConfig = Field(default_factory=OptimizerConfig)
    """AdamW and its schedule."""
    train: TrainConfig = Field(default_factory=TrainConfig)
    """The training loop."""
    sft: SftConfig = Field(default_factory=SftConfig)
    """Supervised warm-up on an oracle's episodes."""
    eval: EvalConfig = Field(default_factory=EvalConfig)
    """How the policy is judged."""
    parallel: ParallelConfig = Field(default_factory=ParallelConfig)
    """How the learner's model lies over processes."""
    cluster: ClusterConfig = Field(default_factory=ClusterConfig)
    """Parts beyond one process."""
    run: RunConfig = Field(default_factory=RunConfig)
    """Where the run is kept."""

    @model_validator(mode="after")
    def _check_sections_fit(self) -> Config:
        context = self.rollout.max_context_tokens
        for name, budget in (("train", self.train.micro_batch_tokens), ("sft", self.sft.micro_batch_tokens)):
            if budget < context:
                raise ValueError(
                    f"{name}.micro_batch_tokens = {budget} is below rollout.max_context_tokens = {context}: "
                    f"a full episode would not fit; set {name}.micro_batch_tokens={context} or more"
                )
        num_episodes = self.rollout.num_tasks * self.rollout.group_size
        if self.train.num_minibatches > num_episodes:
            raise ValueError(
                f"train.num_minibatches = {self.train.num_minibatches}, but a step has {num_episodes} "
                "episodes (rollout.num_tasks × rollout.group_size); lower it"
            )
        if self.parallel.sp_size > 1 and self.algorithm.correction in ("seq", "geo"):
            raise ValueError(
                f"algorithm.correction = {self.algorithm.correction!r} needs whole sequences, which "
                f"parallel.sp_size = {self.parallel.sp_size} splits; take 'token' or sp_size=1"
            )
        advantage = self.algorithm.advantage
        if self.rollout.group_size == 1 and advantage in ("grpo", "dr_grpo", "reinforce_baseline"):
            raise ValueError(
                f"rollout.group_size = 1 gives algorithm.advantage = {advantage!r} no baseline: "
                "every advantage would be 0; set rollout.group_size=2 or more, or take batch_baseline"
            )
        overlong = self.algorithm.overlong_tokens
        if overlong is not None and overlong > context:
            raise ValueError(
                f"algorithm.overlong_tokens = {overlong} is above rollout.max_context_tokens = {context}; "
                "lower it"
            )
        return self
