"""The adversarial panel: hostile actions are defined steps, and none earns what only skill may earn.

In: a `Subject`. Out: shares of success, or `CheckFailed`.
"""

from __future__ import annotations

import math

from molt_envs.checks.attacks import ATTACKS, ENDINGS, GARBAGE, INJECTIONS, MALFORMED_JSON
from molt_envs.checks.findings import NotShown, require
from molt_envs.checks.subject import Check, Play, Subject, play, script

NUM_PREFIXES = 8
LEAKED = ("root:x:0:", "<class '", "Traceback (most recent call last)")
"""Signs that an action was obeyed as a path, a format or code, or that an error's text got out."""


def _check_defined(subject: Subject) -> str:
    env = subject.make()
    low, high = subject.card.reward_range
    num = 0
    for task in subject.tasks(2 if subject.full else 1):
        for attack in ATTACKS:
            one = play(env, script(attack), task, num_most=3)
            num += len(one.actions)
            for observation, fits, reward in zip(
                one.observations[1:], one.fits[1:], one.rewards, strict=True
            ):
                name = f"{attack[:30]!r} of {len(attack)} characters"
                fine = math.isfinite(reward) and low <= reward <= high
                require(fine, f"{name} gives reward {reward}, the range is [{low}, {high}]")
                require(fits, f"{name} gives an observation too long")
                signs = [sign for sign in LEAKED if sign in observation and sign not in attack]
                require(not signs, f"{name} is answered with {signs}")
    env.close()
    return f"{num} steps"


def _check_after_prefix(subject: Subject) -> str:
    """Each beginning of the oracle's actions, then garbage; then all of them with garbage appended."""
    if not subject.oracle_plays:
        raise NotShown("there is no episode of an oracle to begin with")
    env, num_steps = subject.make_base(), 0
    hostile = (*GARBAGE, *MALFORMED_JSON, *INJECTIONS)
    for one in subject.oracle_plays[: 8 if subject.full else 3]:
        spoiled = [f"{action}\n{attack}" for action, attack in zip(one.actions, ATTACKS, strict=False)]
        scripts = [spoiled]
        for length in range(1, len(one.actions), 1 + len(one.actions) // NUM_PREFIXES):
            room = max(1, subject.card.max_turns - length)
            chunks = (hostile[start : start + room] for start in range(0, len(hostile), room))
            scripts += [[*one.actions[:length], *chunk] for chunk in chunks]
        num_steps += sum(len(play(env, script(*actions), one.task).actions) for actions in scripts)
    env.close()
    return f"{num_steps} steps"


def _check_reward_is_not_written(subject: Subject) -> str:
    return _require_no_credit(subject, dict.fromkeys(INJECTIONS, ""))


def _check_no_early_credit(subject: Subject) -> str:
    # An answer to one task is no shortcut to the others; a last action that ends all of them is.
    learnt = {one.actions[-1]: one.task_id for one in subject.oracle_plays[:4]}
    return _require_no_credit(subject, dict.fromkeys(ENDINGS, "") | learnt)


def _require_no_credit(subject: Subject, cheats: dict[str, str]) -> str:
    """Play each action and then nothing, in all tasks but the one that it was taken from."""
    returns = {one.task_id: sum(one.rewards) for one in subject.oracle_plays if one.success}
    env, worst = subject.make_base(), 0.0
    tasks = subject.tasks(32 if subject.full else 8, len(cheats))
    for cheat, own_task in cheats.items():
        plays = [play(env, script(cheat, ""), task) for task in tasks if task.task_id != own_task]
        share = sum(_credited(one, returns) for one in plays) / max(1, len(plays))
        worst = max(worst, share)
        most = subject.card.max_baseline_success
        require(share <= most, f"{cheat[:60]!r} alone solves {share:.0%} of {len(plays)} tasks")
    env.close()
    return f"{len(cheats)} actions, each in {len(tasks)} tasks; at most {worst:.0%} solved"


def _credited(one: Play, returns: dict[str, float]) -> bool:
    """Whether an episode earned what the oracle earns."""
    best = returns.get(one.task_id)
    return one.success or (best is not None and best > 0 and sum(one.rewards) >= best)


CHECKS = (
    Check(
        "adversary",
        "hostile actions are defined steps",
        _check_defined,
        "answer what cannot be parsed with a message to the agent, and neither run nor format an action",
    ),
    Check(
        "adversary",
        "garbage after a good start is a defined step",
        _check_after_prefix,
        "let `_act` answer invalid actions in every state",
    ),
    Check(
        "adversary",
        "an action cannot write its own reward",
        _check_reward_is_not_written,
        "compute the reward from the state alone",
    ),
    Check(
        "adversary",
        "ending early earns no credit",
        _check_no_early_credit,
        "give credit for the state that is reached, not for the word that ends the episode",
    ),
)
