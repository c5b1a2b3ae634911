"""Every way in which an episode can end, and what is refused after it.

In: a `Subject`. Out: `CheckFailed` where a rule does not hold.
"""

from __future__ import annotations

from molt_envs.checks.findings import CheckFailed, NotShown, require
from molt_envs.checks.subject import Check, PolicyMaker, Subject, baseline, oracle_of, play, script
from molt_envs.env import AgentEnv
from molt_envs.errors import EpisodeDone


def _check_terminates(subject: Subject) -> str:
    plays = [*subject.oracle_plays, *(one for plays in subject.baseline_plays.values() for one in plays)]
    turns = [len(one.actions) for one in plays if one.terminated]
    if not turns:
        raise NotShown("no policy that is known here brought a task to its own end")
    return f"after {min(turns)} to {max(turns)} of {subject.card.max_turns} turns"


def _check_truncates(subject: Subject) -> str:
    env, most = subject.make_base(), subject.card.max_turns
    for task in subject.tasks(2):
        for policy in _idle(subject):
            one = play(env, policy, task)
            num = len(one.actions)
            require(num <= most, f"{task.task_id} goes on after {most} turns, the card's max_turns")
            require(one.terminated or one.truncated, f"{task.task_id}: no end after {num} turns")
            if one.truncated:
                require(num == most, f"{task.task_id} is truncated after {num} turns, max_turns is {most}")
                return f"after {num} turns"
    env.close()
    raise NotShown("every policy tried came to an end of its own first")


def _idle(subject: Subject) -> tuple[PolicyMaker, ...]:
    """Policies that are likely to use up all turns."""
    return (
        script(""),
        script(subject.card.grammar.example),
        baseline("random"),
    )


def _check_step_after_end(subject: Subject) -> None:
    fresh = subject.make_base()
    _must_refuse(fresh, "before the first reset")
    fresh.close()
    env, task = subject.make_base(), subject.tasks(1)[0]
    for policy in (oracle_of(), *_idle(subject)):
        one = play(env, policy, task)
        _must_refuse(env, f"after an episode of {len(one.actions)} turns")
        again = play(env, policy, task)
        require(again.actions == one.actions, "a reset after the refused step gives another episode")
    env.close()


def _must_refuse(env: AgentEnv, when: str) -> None:
    try:
        env.step("anything")
    except EpisodeDone:
        return
    raise CheckFailed(f"step() {when} gives a result")


def _check_close(subject: Subject) -> None:
    for num_steps in (None, 0, 1):
        env = subject.make_base()
        if num_steps is not None:
            play(env, script(subject.card.grammar.example), num_most=num_steps)
        env.close()
        env.close()
    other = subject.make_base()
    play(other, script(subject.card.grammar.example), num_most=1)
    other.close()


CHECKS = (
    Check(
        "endings",
        "a task comes to its own end",
        _check_terminates,
        "set `terminated` in the Turn that ends the task",
    ),
    Check(
        "endings",
        "an episode is truncated at max_turns",
        _check_truncates,
        "leave the count of turns to AgentEnv.step",
    ),
    Check(
        "endings",
        "a step without a running episode is an error",
        _check_step_after_end,
        "raise EpisodeDone: leave `step` and `reset` to AgentEnv, and implement `_begin` and `_act`",
    ),
    Check(
        "endings",
        "closing twice, and before a reset, is harmless",
        _check_close,
        "let `close` release only what is still held, and nothing that other environments share",
    ),
)
