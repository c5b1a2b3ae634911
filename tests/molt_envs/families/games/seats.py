"""Games of one seat, played by the environment's own policies: the environment in, wins out."""

from __future__ import annotations

from molt_envs.multi_agent import SeatEnv

POLICIES = ("oracle", "nothing", "random", "script")


def wins(env: SeatEnv, num_games: int) -> dict[str, int]:
    """Successes of each policy in the first games of the test split."""
    won = dict.fromkeys(POLICIES, 0)
    for name in POLICIES:
        for seed in range(num_games):
            observation, info = env.reset(seed=seed, options={"task_id": f"test:{seed}"})
            policy = env.oracle(seed) if name == "oracle" else env.baselines(seed)[name]
            assert policy is not None
            over = False
            while not over:
                observation, _, over, _, info = env.step(policy.act(observation, info))
            won[name] += info["success"]
    return won
