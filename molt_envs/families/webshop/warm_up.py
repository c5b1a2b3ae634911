"""Makes a process ready to be forked, so that workers share what WebShop needs.

In: keywords of the environment. Out: nothing; the process has loaded, played a little and frozen its objects.
"""

import gc

from molt_envs.families.webshop.env import WebShopEnv
from molt_envs.families.webshop.oracle import RandomPolicy

NUM_EPISODES = 40


def warm_up(**kwargs: object) -> None:
    """Load a catalogue and play some episodes, then keep the collector off all objects that are there.

    Call it in a module that `multiprocessing.set_forkserver_preload` names, or before forking. What code
    writes when it first runs is written then, and shared.

    Args:
        kwargs: as for `WebShopEnv`.
    """
    env = WebShopEnv(**kwargs)  # pyright: ignore[reportArgumentType]
    for number in range(NUM_EPISODES):
        observation, info = env.reset(seed=number)
        policy, ended = (env.oracle() if number % 2 else RandomPolicy(number)), False
        while not ended:
            observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
            ended = terminated or truncated
    gc.collect()
    gc.freeze()
