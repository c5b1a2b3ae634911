"""A process that is ready to be forked."""

from __future__ import annotations

import subprocess
import sys


def test_warming_up_loads_and_freezes_and_changes_no_episode() -> None:
    program = (
        "import gc; from molt_envs.families.webshop.env import WebShopEnv;"
        "before = WebShopEnv().reset(seed=3);"
        "from molt_envs.families.webshop.warm_up import warm_up; warm_up(page_size=5);"
        "print(gc.get_freeze_count() > 10_000, WebShopEnv().reset(seed=3) == before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "True True\n"
