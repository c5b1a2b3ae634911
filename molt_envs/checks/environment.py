"""Checks of environments: Gymnasium's own, then the hub's rules.

In: a registered id or a function that makes an environment. Out: `Findings`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.utils.env_checker import check_env as gymnasium_check_env

from molt_envs.checks.findings import CheckFailed, Findings, require
from molt_envs.env import AgentEnv
from molt_envs.errors import EpisodeDone, TaskError

INFO_KEYS = {"task_id": str, "split": str, "turn": int, "score": float, "success": bool}
ODD_ACTIONS = ("", " ", "\0\x01\x1b[2J\r\n\t", "‮é日本😀\ud800", "[" * 5000, "x" * 2**20)
NUM_EPISODES = 4

Factory = Callable[[], "gymnasium.Env[str, str]"]


def check_env(env: str | Factory) -> Findings:
    """Check an environment.

    Args:
        env: a registered id, or a function that makes a fresh environment.
    """
    make: Factory = (lambda: gymnasium.make(env)) if isinstance(env, str) else env
    findings = Findings()
    rules: list[tuple[str, Callable[[Factory], None]]] = [
        ("gymnasium's check_env passes", _check_gymnasium),
        ("same seed, same episode", _check_same_episode),
        ("a task id names the same task again", _check_task_id),
        ("an unknown task, split or option is a TaskError", _check_bad_options),
        ("info has its keys, rewards their range, observations their length", _check_steps),
        ("admissible actions are accepted", _check_admissible),
        ("odd actions are defined steps", _check_odd_actions),
        ("a step without a running episode is an error", _check_step_after_end),
        ("every split has its first and last task", _check_splits),
    ]
    for name, rule in rules:
        findings.run(name, lambda rule=rule: rule(make))
    return findings


def _check_gymnasium(make: Factory) -> None:
    env = make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Render modes are tried through the spec, which an environment made by hand does not have.
        gymnasium_check_env(env.unwrapped, skip_render_check=env.spec is None)
    env.close()
    texts = [str(warning.message) for warning in caught]
    require(not texts, f"it warns: {texts[:1]}")


def _check_same_episode(make: Factory) -> None:
    first, second = make(), make()
    for seed in range(NUM_EPISODES):
        one, two = _walk(first, seed), _walk(second, seed)
        require(one == two, f"seed {seed} gives two different episodes in two environments")
        require(
            one == _walk(first, seed), f"seed {seed} gives another episode in an environment that was used"
        )
    first.close()
    second.close()


def _check_task_id(make: Factory) -> None:
    env = make()
    observation, info = env.reset(seed=1)
    again, repeated = env.reset(seed=1, options={"task_id": info["task_id"]})
    require(repeated["task_id"] == info["task_id"], f"{info['task_id']} gives {repeated['task_id']}")
    require(again == observation, f"{info['task_id']} begins differently when it is named")
    env.close()


def _check_bad_options(make: Factory) -> None:
    env = make()
    for options in (
        {"task_id": "nowhere:0"},
        {"task_id": "train:-1"},
        {"split": "nowhere"},
        {"spilt": "train"},
    ):
        try:
            env.reset(seed=0, options=options)
        except TaskError:
            continue
        raise CheckFailed(f"reset accepts {options}")
    env.close()


def _check_steps(make: Factory) -> None:
    env = make()
    low, high = _base(env).card.reward_range
    for seed in range(NUM_EPISODES):
        observation, info = env.reset(seed=seed)
        over, turn = False, 0
        while not over:
            _check_info(info, turn)
            require(
                env.observation_space.contains(observation),
                f"an observation of {len(observation)} characters",
            )
            observation, reward, terminated, truncated, info = env.step(_choose(env, info, turn))
            require(low <= float(reward) <= high, f"reward {reward} outside [{low}, {high}]")
            require(not (terminated and truncated), "terminated and truncated at once")
            over, turn = terminated or truncated, turn + 1
            require(turn <= _base(env).card.max_turns, f"{turn} turns, max_turns {_base(env).card.max_turns}")
        _check_info(info, turn)
    env.close()


def _check_info(info: dict[str, Any], turn: int) -> None:
    for key, kind in INFO_KEYS.items():
        require(key in info, f"info lacks {key!r}")
        require(
            isinstance(info[key], kind), f"info[{key!r}] is {type(info[key]).__name__}, not {kind.__name__}"
        )
    require(math.isfinite(info["score"]), f"score {info['score']}")
    require(info["turn"] == turn, f"turn {info['turn']} after {turn} steps")


def _check_admissible(make: Factory) -> None:
    env = make()
    _, info = env.reset(seed=0)
    for action in info.get("admissible_actions", ())[:16]:
        env.reset(seed=0)
        require(env.action_space.contains(action), f"{action!r} is not in the action space")
        env.step(action)
    env.close()


def _check_odd_actions(make: Factory) -> None:
    env = make()
    for action in ODD_ACTIONS:
        for _ in range(2):
            env.reset(seed=0)
            observation, reward, _, _, _ = env.step(action)
            require(math.isfinite(float(reward)), f"{action[:20]!r} gives reward {reward}")
            require(
                env.observation_space.contains(observation), f"{action[:20]!r} gives an observation too long"
            )
    env.close()


def _check_step_after_end(make: Factory) -> None:
    env = make()
    _must_refuse(env.unwrapped, "before the first reset")
    env.reset(seed=0)
    over, turn = False, 0
    while not over:
        _, _, terminated, truncated, info = env.step(_base(env).card.grammar.example)
        over, turn = terminated or truncated, turn + 1
        require("task_id" in info, "info lacks 'task_id'")
    _must_refuse(env, f"after the end of an episode of {turn} turns")
    env.close()


def _check_splits(make: Factory) -> None:
    env = make()
    for split, num_tasks in _base(env).card.splits.items():
        for index in {0, num_tasks - 1} if num_tasks else set[int]():
            _, info = env.reset(seed=0, options={"task_id": f"{split}:{index}"})
            require(info["task_id"] == f"{split}:{index}", f"{split}:{index} gives {info['task_id']}")
            require(info["split"] == split, f"{split}:{index} is in split {info['split']}")
    env.close()


def _must_refuse(env: gymnasium.Env[Any, Any], when: str) -> None:
    try:
        env.step("anything")
    except EpisodeDone:
        return
    raise CheckFailed(f"step() {when} gives a result")


def _walk(env: gymnasium.Env[str, str], seed: int) -> list[object]:
    """Everything one episode shows, with actions chosen from what it shows."""
    observation, info = env.reset(seed=seed)
    seen: list[object] = [observation, sorted(info.items(), key=lambda item: item[0])]
    over, turn = False, 0
    while not over:
        observation, reward, terminated, truncated, info = env.step(_choose(env, info, turn))
        seen += [observation, reward, terminated, truncated, sorted(info.items(), key=lambda item: item[0])]
        over, turn = terminated or truncated, turn + 1
    return seen


def _choose(env: gymnasium.Env[str, str], info: dict[str, Any], turn: int) -> str:
    actions = info.get("admissible_actions") or (_base(env).card.grammar.example,)
    return actions[(7 * turn + 3) % len(actions)]


def _base(env: gymnasium.Env[str, str]) -> AgentEnv:
    base = env.unwrapped
    require(isinstance(base, AgentEnv), f"{type(base).__name__} is not an AgentEnv")
    assert isinstance(base, AgentEnv)
    return base
