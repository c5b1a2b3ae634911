"""The trainer: takes `molt_envs` environments and makes a language model better at them."""

__version__ = "0.1.0"
