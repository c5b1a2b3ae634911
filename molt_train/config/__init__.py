"""Configuration of the trainer: one frozen model per section, TOML recipes, dotted overrides.

In: a recipe and overrides. Out: `Config`. Imports no torch.
"""

from molt_train.config.algorithm import AlgorithmConfig
from molt_train.config.base import ConfigError
from molt_train.config.config import Config
from molt_train.config.env import EnvConfig
from molt_train.config.evaluation import EvalConfig
from molt_train.config.load import load_config, parse_config, recipe_names
from molt_train.config.model import ModelConfig
from molt_train.config.optimizer import OptimizerConfig
from molt_train.config.parallel import ParallelConfig
from molt_train.config.rollout import RolloutConfig
from molt_train.config.run import RunConfig
from molt_train.config.sft import SftConfig
from molt_train.config.toml import config_to_toml
from molt_train.config.train import TrainConfig

__all__ = [
    "AlgorithmConfig",
    "Config",
    "ConfigError",
    "EnvConfig",
    "EvalConfig",
    "ModelConfig",
    "OptimizerConfig",
    "ParallelConfig",
    "RolloutConfig",
    "RunConfig",
    "SftConfig",
    "TrainConfig",
    "config_to_toml",
    "load_config",
    "parse_config",
    "recipe_names",
]
