"""The kit finds what is wrong: one faulty thing for each rule."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from molt_envs import ByteRenderer, Message, Task, ToolSchema, Turn
from molt_envs.checks import Findings, check_env, check_episode, check_renderer
from tests.molt_envs.samples import make_episode, plain_segment
from tests.molt_envs.toy import ToyEnv


def failed(findings: Findings) -> list[str]:
    return [finding.name for finding in findings if not finding.ok]


class Drifting(ToyEnv):
    def _begin(self, task: Task, rng: Any) -> Turn:
        return replace(super()._begin(task, rng), observation=str(random.random()))


class Hashing(ToyEnv):
    def _begin(self, task: Task, rng: Any) -> Turn:
        return replace(super()._begin(task, rng), observation=str(id(self)))


class Fragile(ToyEnv):
    def _act(self, action: str) -> Turn:
        action.encode("ascii")
        return super()._act(action)


class Choosy(ToyEnv):
    def _begin(self, task: Task, rng: Any) -> Turn:
        return replace(super()._begin(task, rng), admissible_actions=("rød", 3))  # type: ignore[arg-type]


class Wordy(ToyEnv):
    def _act(self, action: str) -> Turn:
        return replace(super()._act(action), observation="x" * 5000, terminated=False)


class Loose(ToyEnv):
    def _choose(self, options: Any) -> Task:
        return Task("train", 0)


@pytest.mark.parametrize(
    ("env", "rule"),
    [
        (Drifting, "same seed, same episode"),
        (Hashing, "same seed, same episode"),
        (Fragile, "odd actions are defined steps"),
        (Choosy, "admissible actions are accepted"),
        (Wordy, "info has its keys, rewards their range, observations their length"),
        (Loose, "an unknown task, split or option is a TaskError"),
        (Loose, "every split has its first and last task"),
    ],
)
def test_a_faulty_environment_is_found(env: type[ToyEnv], rule: str) -> None:
    assert rule in failed(check_env(env))


def test_a_sound_environment_passes() -> None:
    findings = check_env(ToyEnv)
    findings.assert_ok()
    assert len(findings) == 9


class Newline(ByteRenderer):
    """Forgets to close a turn in incremental rendering."""

    def extend(
        self,
        messages: Sequence[Message],
        sampled_ids: Sequence[int],
        new_messages: Sequence[Message],
        tools: Sequence[ToolSchema] = (),
    ) -> list[int] | None:
        ids = super().extend(messages, sampled_ids, new_messages, tools)
        return None if ids is None else [10, *ids]


class Trusting(ByteRenderer):
    def parse(self, token_ids: Sequence[int]) -> Message:
        bytes(token_ids)
        return super().parse(token_ids)


class Endless(ByteRenderer):
    stop_ids = ()  # type: ignore[assignment]


def test_faulty_renderers_are_found() -> None:
    assert any("incremental" in name for name in failed(check_renderer(Newline())))
    assert "parse takes any ids" in failed(check_renderer(Trusting()))
    assert "stop ids exist and are in the vocabulary" in failed(check_renderer(Endless()))


def test_the_reference_renderer_passes() -> None:
    check_renderer(ByteRenderer()).assert_ok()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            {"segments": (plain_segment(), replace(plain_segment(), stop_reason="truncated"))},
            "only the last segment ends the episode",
        ),
        ({"segments": (plain_segment(),)}, "a resolved episode's outcome is its last stop reason"),
        ({"outcome": "failed", "reason": ""}, "a failed or unresolved episode says why"),
    ],
)
def test_a_faulty_episode_is_found(changes: dict[str, Any], rule: str) -> None:
    assert failed(check_episode(make_episode(**changes))) == [rule]


def test_an_id_outside_the_vocabulary_is_found() -> None:
    assert failed(check_episode(make_episode(), vocab_size=9)) == ["token ids are in the vocabulary"]
    check_episode(make_episode(), vocab_size=10).assert_ok()


def test_assert_ok_lists_what_fails() -> None:
    with pytest.raises(AssertionError, match="1 of 6 checks fail\nFAIL  token ids are in the vocabulary"):
        check_episode(make_episode(), vocab_size=9).assert_ok()
