"""What the fork server of `webshop_memory` imports: all that its workers need is in its memory afterwards.

What a worker imports by itself is its own: hence the modules that only workers use.
"""

import multiprocessing.queues  # noqa: F401
import runpy  # noqa: F401

import cloudpickle  # noqa: F401
import gymnasium
import gymnasium.vector

import molt_envs  # noqa: F401 - registers the ids
from molt_envs.families.webshop.warm_up import warm_up

gymnasium.make("molt/WebShop-v0").close()
warm_up()
