"""Same seed, same episodes, in processes whose string hashes differ."""

from __future__ import annotations

import pytest

from tests.molt_envs.registered import env_ids
from tests.molt_envs.test_registry import run_python

PLAY = """
import hashlib, gymnasium, molt_envs
from tests.molt_envs.toy import register_toy
register_toy()
env = gymnasium.make(ENV_ID)
digest = hashlib.sha256()
def note(*values):
    digest.update(repr(values).encode("utf-8", "surrogatepass"))
for seed in range(3):
    observation, info = env.reset(seed=seed)
    over, turn = False, 0
    note(observation, sorted(info.items()))
    while not over:
        actions = info.get("admissible_actions") or (env.unwrapped.card.grammar.example,)
        observation, reward, terminated, truncated, info = env.step(actions[(7 * turn + seed) % len(actions)])
        note(observation, reward, terminated, truncated, sorted(info.items()))
        over, turn = terminated or truncated, turn + 1
print(digest.hexdigest())
"""


@pytest.mark.parametrize("env_id", env_ids())
def test_same_seed_same_episodes_in_four_processes(env_id: str) -> None:
    results = [
        run_python(f"ENV_ID = {env_id!r}\n{PLAY}", PYTHONHASHSEED=str(seed)) for seed in (0, 1, 2, 4242)
    ]
    digests = {result.stdout for result in results}
    assert len(digests) == 1, [result.stderr[-300:] for result in results]
    assert len(digests.pop().strip()) == 64, results[0].stderr
