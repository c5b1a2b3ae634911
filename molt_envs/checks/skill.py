"""What the oracle reaches, what policies without skill reach, and what the splits share.

In: a `Subject`. Out: success shares, or `CheckFailed`.
"""

from __future__ import annotations

from itertools import combinations

from molt_envs.checks.findings import NotShown, require
from molt_envs.checks.subject import Check, Subject, oracle_of, play
from molt_envs.env import AgentEnv, Task

MOST_BY_NOTHING = 0.05
NOT_SHOWN = "oracle not shown: the environment has none"


def _check_oracle(subject: Subject) -> str:
    plays = subject.oracle_plays
    if not plays:
        raise NotShown(NOT_SHOWN)
    failed = [one for one in plays if not one.success]
    where = f"{failed[0].task_id} after {len(failed[0].actions)} turns" if failed else ""
    require(not failed, f"success {1 - len(failed) / len(plays):.3f}; not solved: {where}")
    scores = [one.infos[-1]["score"] for one in plays]
    turns = [len(one.actions) for one in plays]
    return f"{len(plays)} tasks, score {min(scores):g} to {max(scores):g}, {min(turns)} to {max(turns)} turns"


def _check_baselines(subject: Subject) -> str:
    shares: dict[str, float] = {}
    for name, plays in subject.baseline_plays.items():
        shares[name] = sum(one.success for one in plays) / len(plays)
        most = MOST_BY_NOTHING if name == "nothing" else subject.card.max_baseline_success
        solved = next((one.task_id for one in plays if one.success), "")
        require(
            shares[name] <= most,
            f"{name} solves {shares[name]:.0%} of {len(plays)} tasks, at most {most:.0%}; one is {solved}",
        )
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())


def _check_splits_disjoint(subject: Subject) -> str:
    num_each = 2000 if subject.full else 100
    env = subject.make_base()
    starts: dict[str, dict[object, Task]] = {}
    for split in subject.card.splits:
        starts[split] = {}
        for task in subject.tasks(num_each, split):
            observation, info = env.reset(seed=0, options={"task_id": task.task_id})
            key = (" ".join(observation.casefold().split()), info.get("state_key"))
            starts[split].setdefault(key, task)
    for one, two in combinations(starts, 2):
        for key in starts[one].keys() & starts[two].keys():
            first, second = starts[one][key], starts[two][key]
            same = _same_task(env, first, second)
            require(not same, f"{first.task_id} and {second.task_id} are the same task: {str(key)[:80]}")
    env.close()
    return "none shared by " + " × ".join(f"{len(found):,} of {split}" for split, found in starts.items())


def _same_task(env: AgentEnv, first: Task, second: Task) -> bool:
    """Whether two tasks that begin alike also play out alike, under the oracle or the random baseline."""
    one, two = play(env, oracle_of(), first), play(env, oracle_of(), second)
    return (one.actions, one.observations, one.rewards) == (two.actions, two.observations, two.rewards)


CHECKS = (
    Check(
        "skill",
        "the oracle solves every task",
        _check_oracle,
        "mend the oracle, or take the tasks that cannot be solved out of the data",
    ),
    Check(
        "skill",
        "policies without skill solve next to nothing",
        _check_baselines,
        "close the shortcut; where luck alone is likelier, declare it as the card's max_baseline_success",
    ),
    Check(
        "skill",
        "splits share no task",
        _check_splits_disjoint,
        "split by goal, room or template before tasks are made from them",
    ),
)
