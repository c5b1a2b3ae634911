"""Who may import whom, as data: the order of the layers and the homes of heavy dependencies."""

from __future__ import annotations

PACKAGE_ORDER = ("sandboxes", "molt_envs", "molt_train")
"""An import never points to the right."""

NOT_SHIPPED = ("benchmarks", "tests", "scripts")
"""No package imports these."""

HOMES: dict[str, tuple[str, ...]] = {
    "torch": (
        "molt_train.rollout",
        "molt_train.data",
        "molt_train.algorithms",
        "molt_train.model",
        "molt_train.learner",
        "molt_train.threads",
        "molt_train.weight_sync",
        "molt_train.loop",
        "molt_train.cluster",
        "molt_train.monitor.tensorboard",
    ),
    "transformers": ("molt_train.model", "molt_train.rollout"),
    "tokenizers": ("molt_train.model", "molt_train.rollout"),
    "safetensors": ("molt_train.model", "molt_train.weight_sync"),
    "peft": ("molt_train.model",),
    "ray": ("molt_train.cluster",),
    "vllm": ("molt_train.rollout.vllm",),
    "pyarrow": ("molt_envs.protocol.parquet",),
    "tensorboard": ("molt_train.monitor",),
    "matplotlib": ("molt_train.monitor",),
}
"""A dependency that is heavy or optional -> the only modules (with those below them) that import it."""

HUB_LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("protocol",),
    ("spaces", "policy", "extras"),
    ("env",),
    ("multi_agent",),
    ("tools", "rewards", "rendering"),
    ("history", "recorder"),
    ("token_env",),
    ("wrappers",),
    ("catalog",),
    ("registry",),
    ("vector", "workers"),
    ("__init__",),
    ("checks", "families"),
    ("evaluate", "episodes"),
    ("serve", "adapters", "scaffold"),
    ("cli", "__main__", "pytest_plugin"),
)
"""Modules of `molt_envs`, lowest first; one imports only from the rows above its own, or itself.
`__init__` stands for `import molt_envs`, the public names."""
