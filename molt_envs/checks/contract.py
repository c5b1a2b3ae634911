"""The contract: Gymnasium's own check, then the hub's rules on reset, step and `info`.

In: a `Subject`. Out: `CheckFailed` where a rule does not hold.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from gymnasium.utils.env_checker import check_env as gymnasium_check_env

from molt_envs.checks.findings import CheckFailed, require
from molt_envs.checks.subject import Check, Subject, baseline, first_difference, oracle_of, play
from molt_envs.env import Task
from molt_envs.errors import TaskError
from molt_envs.protocol.images import describe

INFO_KEYS = {"task_id": str, "split": str, "turn": int, "score": float, "success": bool}
NUM_EPISODES = 4


def _check_gymnasium(subject: Subject) -> None:
    env = subject.make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Render modes are tried through the spec, which an environment made by hand does not have.
        gymnasium_check_env(env.unwrapped, skip_render_check=env.spec is None)
    env.close()
    texts = [str(warning.message) for warning in caught]
    require(not texts, f"it warns: {texts[:1]}")


def _check_same_episode(subject: Subject) -> None:
    first, second = subject.make(), subject.make()
    for seed in range(NUM_EPISODES):
        for policy in (oracle_of(seed), baseline("random", seed)):
            one = play(first, policy, seed=seed)
            for what, other in (("in two environments", second), ("in an environment that was used", first)):
                found = first_difference(one, play(other, policy, seed=seed))
                require(found is None, f"seed {seed} gives two episodes {what}: {found}")
    first.close()
    second.close()


def _check_task_id(subject: Subject) -> None:
    env = subject.make()
    observation, info = env.reset(seed=1)
    again, repeated = env.reset(seed=1, options={"task_id": info["task_id"]})
    require(repeated["task_id"] == info["task_id"], f"{info['task_id']} gives {repeated['task_id']}")
    same = describe(again) == describe(observation)
    require(same, f"{info['task_id']} begins differently when it is named")
    env.close()


def _check_bad_options(subject: Subject) -> None:
    env = subject.make()
    bad = ({"task_id": "nowhere:0"}, {"task_id": "train:-1"}, {"split": "nowhere"}, {"spilt": "train"})
    for options in bad:
        try:
            env.reset(seed=0, options=options)
        except TaskError:
            continue
        raise CheckFailed(f"reset accepts {options}")
    env.close()


def _check_splits(subject: Subject) -> str:
    env = subject.make()
    ends = ((split, index) for split, size in subject.card.splits.items() for index in {0, size - 1})
    for task in (Task(split, index) for split, index in ends):
        _, info = env.reset(seed=0, options={"task_id": task.task_id})
        require(info["task_id"] == task.task_id, f"{task.task_id} gives {info['task_id']}")
        require(info["split"] == task.split, f"{task.task_id} is in split {info['split']}")
    env.close()
    return ", ".join(f"{split} {size:,}" for split, size in subject.card.splits.items())


def _check_info(subject: Subject) -> None:
    plays = [*subject.oracle_plays, *(one for plays in subject.baseline_plays.values() for one in plays)]
    for one in plays:
        for turn, (observation, info) in enumerate(zip(one.observations, one.infos, strict=True)):
            fits = one.fits[turn]
            where = f"{one.task_id}, turn {turn}"
            _check_keys(info, turn, where)
            require(fits, f"{where}: an observation of {len(observation)} characters is not in the space")
        require(not (one.terminated and one.truncated), f"{one.task_id}: terminated and truncated at once")


def _check_keys(info: Any, turn: int, where: str) -> None:
    for key, kind in INFO_KEYS.items():
        require(key in info, f"{where}: info lacks {key!r}")
        given = type(info[key]).__name__
        require(isinstance(info[key], kind), f"{where}: info[{key!r}] is {given}, not {kind.__name__}")
    require(math.isfinite(info["score"]), f"{where}: score {info['score']}")
    require(info["turn"] == turn, f"{where}: info says turn {info['turn']}")


def _check_rewards(subject: Subject) -> str:
    low, high = subject.card.reward_range
    require(math.isfinite(low) and math.isfinite(high), f"the declared range is [{low}, {high}]")
    plays = [*subject.oracle_plays, *(one for plays in subject.baseline_plays.values() for one in plays)]
    subject.require_oracle_ran("declared range")
    for one in plays:
        for turn, reward in enumerate(one.rewards, start=1):
            fine = math.isfinite(reward) and low <= reward <= high
            require(fine, f"{one.task_id}, turn {turn}: reward {reward} is outside [{low}, {high}]")
    rewards = [reward for one in plays for reward in one.rewards]
    return f"{min(rewards):g} to {max(rewards):g} of [{low:g}, {high:g}] in {len(rewards):,} steps"


def _check_admissible(subject: Subject) -> None:
    env = subject.make()
    _, info = env.reset(seed=0)
    for action in info.get("admissible_actions", ())[:16]:
        env.reset(seed=0)
        require(env.action_space.contains(action), f"{action!r} is not in the action space")
        env.step(action)
    env.close()


CHECKS = (
    Check("contract", "gymnasium's check_env passes", _check_gymnasium, "mend what Gymnasium names"),
    Check(
        "contract",
        "same seed, same episode",
        _check_same_episode,
        "draw only from the rng that `_begin` is given, and set all state in `_begin`",
    ),
    Check(
        "contract",
        "a task id names the same task again",
        _check_task_id,
        "derive the task from the Task given to `_begin`, not from the rng",
    ),
    Check(
        "contract",
        "an unknown task, split or option is a TaskError",
        _check_bad_options,
        "leave the choice of the task to AgentEnv.reset",
    ),
    Check(
        "contract",
        "every split has its first and last task",
        _check_splits,
        "make the card's split sizes those of the data",
    ),
    Check(
        "contract",
        "info has its keys, observations their length",
        _check_info,
        "return a Turn from `_act` and raise max_observation_chars or shorten the text",
    ),
    Check(
        "contract",
        "rewards are finite and in the declared range",
        _check_rewards,
        "scale the reward or widen the card's reward_range; treat a grader's nan as an error of its own",
    ),
    Check(
        "contract",
        "admissible actions are accepted",
        _check_admissible,
        "list only str that `_act` takes",
    ),
)
