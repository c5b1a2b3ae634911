"""WebShop whose steps take log-normal times, fixed by the task and the turn: for measuring who waits.

In: the median and the shape. Out: the same episodes as WebShop's, later.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np

from molt_envs import Task, Turn
from molt_envs.families.webshop.env import WebShopEnv

ENV_ID = "molt-bench/SlowWebShop-v0"
SIGMA = 1.0
"""Of the logarithm: the 99th percentile is 10.2 medians."""


class SlowWebShop(WebShopEnv):
    """WebShop with waiting.

    Args:
        median_s: median of a step's time in seconds; 0 waits not at all.
        kwargs: WebShop's own.
    """

    def __init__(self, median_s: float = 0.1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._median_s = median_s

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._times = np.random.default_rng([task.index, int(rng.integers(2**31))])
        return super()._begin(task, rng)

    def _act(self, action: str) -> Turn:
        time.sleep(self._median_s * float(self._times.lognormal(0.0, SIGMA)))
        return super()._act(action)


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:SlowWebShop")
