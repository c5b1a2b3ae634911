"""The kit finds what is wrong with renderers and episodes: one faulty thing for each rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from molt_envs import ByteRenderer, Message, ToolSchema
from molt_envs.checks import Findings, check_episode, check_renderer
from tests.molt_envs.samples import make_episode, plain_segment


def failed(findings: Findings) -> list[str]:
    return [finding.name for finding in findings if not finding.ok]


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
