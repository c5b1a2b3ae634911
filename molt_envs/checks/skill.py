"""What the oracle reaches, what policies without skill reach, and what the splits share.

In: a `Subject`. Out: success shares, or `CheckFailed`.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from molt_envs.checks.findings import CheckFailed, NotShown, require
from molt_envs.checks.subject import Check, Subject, baseline, oracle_of, play
from molt_envs.env import AgentEnv, Task
from molt_envs.protocol.images import describe

MOST_BY_NOTHING = 0.05
FEWEST_PAIRS = 60
NOT_SHOWN = "oracle not shown: the environment has none"


def _check_oracle(subject: Subject) -> str:
    plays = subject.oracle_plays
    subject.require_oracle_ran()
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
    blind = subject.card.image_size is None or "blind" in subject.baseline_plays
    require(blind, "there are images, but no baseline 'blind' that knows the text alone")
    for name, plays in subject.baseline_plays.items():
        shares[name] = sum(one.success for one in plays) / len(plays)
        most = MOST_BY_NOTHING if name == "nothing" else subject.card.max_baseline_success
        solved = next((one.task_id for one in plays if one.success), "")
        require(
            shares[name] <= most,
            f"{name} solves {shares[name]:.0%} of {len(plays)} tasks, at most {most:.0%}; one is {solved}",
        )
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())


def _check_text_is_not_enough(subject: Subject) -> str:
    """Among tasks whose texts begin alike, how often the oracle does the same in two of them."""
    if subject.card.image_size is None:
        return "it has no images"
    if not subject.oracle_plays:
        raise NotShown(NOT_SHOWN)
    env, alike = subject.make_base(), defaultdict[str, Counter[tuple[str, ...]]](Counter)
    for task in subject.tasks(100):
        one = play(env, oracle_of(task.index), task)
        alike[one.observations[0]][one.actions] += 1
    env.close()
    same = sum(num * (num - 1) for plans in alike.values() for num in plans.values())
    pairs = sum(plans.total() * (plans.total() - 1) for plans in alike.values())
    if pairs < FEWEST_PAIRS:
        raise NotShown(f"{pairs // 2} pairs of tasks begin with the same text")
    text = f"the same is right in {same / pairs:.0%} of {pairs // 2} pairs of tasks with the same text"
    require(same <= subject.card.max_baseline_success * pairs, text)
    return text


def _check_splits_disjoint(subject: Subject) -> str:
    env = subject.make_base()
    alike: dict[object, list[Task]] = defaultdict(list)
    tasks = subject.tasks(2000 if subject.full else 100)
    for task in tasks:
        observation, info = env.reset(seed=0, options={"task_id": task.task_id})
        alike[" ".join(describe(observation).casefold().split()), info.get("state_key")].append(task)
    for start, found in alike.items():
        if len({task.split for task in found}) > 1:
            same = _same_tasks(env, found)
            if same is not None:
                if 2 * len(alike) < len(tasks) and env.oracle() is None:
                    raise NotShown("tasks begin alike, and without an oracle not all of them play out apart")
                names = " and ".join(task.task_id for task in same)
                raise CheckFailed(f"{names} are the same task: {str(start)[:80]}")
    env.close()
    sizes = Counter(task.split for task in tasks)
    return "none shared by " + " × ".join(f"{num:,} of {split}" for split, num in sizes.items())


def _same_tasks(env: AgentEnv, alike: list[Task]) -> tuple[Task, Task] | None:
    """Two tasks of different splits that play out alike too, for the oracle and all baselines."""
    policies = [oracle_of(), *(baseline(name) for name in env.baselines())]
    known: dict[object, Task] = {}
    for task in alike:
        plays = [play(env, policy, task) for policy in policies]
        key = tuple((one.actions, one.observations, one.images, one.rewards) for one in plays)
        if known.setdefault(key, task).split != task.split:
            return known[key], task
    return None


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
        "the text alone does not tell what to do",
        _check_text_is_not_enough,
        "draw the answer on its own, and say in the text only what is asked for",
    ),
    Check(
        "skill",
        "splits share no task",
        _check_splits_disjoint,
        "split by goal, room or template before tasks are made from them",
    ),
)
