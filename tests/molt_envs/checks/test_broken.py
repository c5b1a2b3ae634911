"""Each broken environment is caught by the check that is meant for its fault, and the sound one by none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from molt_envs import AgentEnv, Task, Turn
from molt_envs.checks import Findings, check_env
from molt_envs.checks.environment import CHECKS
from tests.molt_envs.checks.broken import envs, games
from tests.molt_envs.checks.broken.vault import CARD, VaultEnv
from tests.molt_envs.toy import ToyEnv


class Loose(ToyEnv):
    """Takes any option."""

    def _choose(self, options: Any) -> Task:
        return Task("train", 0)


class Choosy(ToyEnv):
    """Lists an action that is none."""

    def _begin(self, task: Task, rng: Any) -> Turn:
        return replace(super()._begin(task, rng), admissible_actions=("rød", 3))  # type: ignore[arg-type]


class Wordy(ToyEnv):
    """Shows more than it declares."""

    def _act(self, action: str) -> Turn:
        return replace(super()._act(action), observation="x" * 5000, terminated=False)


CAUGHT: list[tuple[type[AgentEnv], str]] = [
    (Loose, "an unknown task, split or option is a TaskError"),
    (Loose, "every split has its first and last task"),
    (Choosy, "admissible actions are accepted"),
    (Wordy, "info has its keys, observations their length"),
    (envs.Unseeded, "same seed, same episode"),
    (envs.HashSeeded, "same seed, same episode in other processes"),
    (envs.ThreadBound, "same seed, same episode in other threads"),
    (envs.Littering, "no files are left behind"),
    (envs.Executing, "no files are left behind"),
    (envs.Overpaid, "rewards are finite and in the declared range"),
    (envs.NotANumber, "rewards are finite and in the declared range"),
    (envs.Endless, "an episode is truncated at max_turns"),
    (envs.Undead, "a step without a running episode is an error"),
    (envs.OnceClosed, "closing twice, and before a reset, is harmless"),
    (envs.Unsolvable, "the oracle solves every task"),
    (envs.Shortcut, "policies without skill solve next to nothing"),
    (games.HidingEnv, "PettingZoo's own tests pass"),
    (games.ShoutingEnv, "all seats' rewards stay in the declared range, whatever is played"),
    (envs.Overlapping, "splits share no task"),
    (envs.Leaky, "an episode leaves nothing for the next one or another environment"),
    (envs.ThreadBound, "an episode leaves nothing for the next one or another environment"),
    (envs.Hoarding, "memory stays flat over resets"),
    (envs.Slow, "steps and resets are quick"),
    (envs.NamedAnswer, "info names no answer"),
    (envs.Planted, "info does not give away what the oracle will do"),
    (envs.PlantedInTest, "info does not give away what the oracle will do"),
    (envs.Choices, "info does not give away what the oracle will do"),
    (envs.Pointing, "info does not give away what the oracle will do"),
    (envs.Told, "the observation does not tell the answer"),
    (envs.Reachable, "info holds plain data"),
    (envs.Writable, "writing to info changes nothing"),
    (envs.Fragile, "hostile actions are defined steps"),
    (envs.Obliging, "hostile actions are defined steps"),
    (envs.Deep, "garbage after a good start is a defined step"),
    (envs.Obedient, "an action cannot write its own reward"),
    (envs.Generous, "ending early earns no credit"),
    (envs.LastWord, "ending early earns no credit"),
]


def failed(findings: Findings) -> list[str]:
    return [finding.name for finding in findings if not finding.ok]


@pytest.mark.parametrize(
    ("env", "rule"), CAUGHT, ids=lambda value: value if isinstance(value, str) else value.__name__
)
def test_a_fault_is_caught_by_name(
    env: type[AgentEnv], rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    group = next(check.group for check in CHECKS if check.name == rule)
    findings = check_env(env, groups=[group])
    assert rule in failed(findings), [str(finding) for finding in findings]
    assert all(finding.mend for finding in findings)


def test_the_sound_one_passes_with_everything_shown() -> None:
    findings = check_env(VaultEnv)
    findings.assert_ok()
    assert len(findings) == len(CHECKS)
    assert all(finding.shown for finding in findings), [str(finding) for finding in findings]


class Asking(VaultEnv):
    """Says "answer" beside a word that is the right one now and then, and counts in `info`."""

    def turn(self, text: str, **details: object) -> Turn:
        return super().turn(f"{text} Answer hall, or another room.", num_rooms=8, place="hall")


def test_a_word_that_is_the_answer_by_chance_is_no_leak() -> None:
    check_env(Asking, groups=["secrets"]).assert_ok()


def test_a_list_of_what_can_be_done_is_no_leak() -> None:
    check_env(envs.Listing, groups=["secrets"]).assert_ok()


class Secretive(VaultEnv):
    """Begins alike in every task, and comes without an oracle."""

    def turn(self, text: str, **details: object) -> Turn:
        return Turn("Guess.")

    def oracle(self, seed: int = 0, noise: float = 0.0) -> None:
        return None


def test_tasks_that_cannot_be_told_apart_are_reported_not_failed() -> None:
    (finding,) = [one for one in check_env(Secretive, groups=["skill"]) if "splits" in one.name]
    assert finding.verdict == "not shown"


def test_an_environment_without_an_oracle_is_reported_not_failed() -> None:
    findings = check_env(ToyEnv, groups=["skill"])
    findings.assert_ok()
    assert "oracle not shown" in str(findings[0])
    assert findings[0].verdict == "not shown"


def test_what_no_other_process_can_make_is_reported_not_failed() -> None:
    findings = check_env(lambda: VaultEnv(CARD), groups=["determinism"])
    assert [finding.verdict for finding in findings] == ["ok", "not shown", "not shown"]


def test_every_group_of_checks_can_be_asked_for_by_name() -> None:
    seen: list[str] = []
    note: Callable[..., None] = lambda check: seen.append(check.group)  # noqa: E731
    assert check_env(ToyEnv, groups=["endings"], progress=note)
    assert {*seen} == {"endings"}
    with pytest.raises(ValueError, match="unknown group of checks 'endigs'; there are contract, "):
        check_env(ToyEnv, groups=["endigs"])
