"""The summary history: what it shows, when it is renewed, and that its segments are exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from molt_envs import (
    AgentEnv,
    ByteRenderer,
    EpisodeRecorder,
    Message,
    Segment,
    Task,
    TokenEnv,
    ToolCall,
    Turn,
)
from molt_envs.checks import check_token_env
from molt_envs.history import NUM_NOTES, Summary, notes
from tests.molt_envs.toy import CARD

NUM_TURNS = 9
SAMPLED = [*b"go", 260]


class Corridor(AgentEnv):
    """Nine rooms, whatever is done."""

    def __init__(self) -> None:
        super().__init__(replace(CARD, max_turns=NUM_TURNS))

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        return Turn("room 0")

    def _act(self, action: str) -> Turn:
        return Turn(f"room {self._turn + 1}")


def talk(num_turns: int) -> list[Message]:
    """A system prompt, an observation, and turns `a0 o1 a1 o2 …`."""
    messages = [Message("system", "s"), Message("user", "o0")]
    for turn in range(num_turns):
        messages += [Message("assistant", f"a{turn}"), Message("user", f"o{turn + 1}")]
    return messages


def words(messages: Sequence[Message]) -> str:
    return " ".join(message.text for message in messages)


def play(history: Summary) -> list[Segment]:
    env, recorder = TokenEnv(Corridor(), ByteRenderer(), history), EpisodeRecorder()
    recorder.open(env.reset(seed=0)[0])
    for turn in range(NUM_TURNS):
        recorder.action(SAMPLED, [-1.0] * len(SAMPLED), [turn] * len(SAMPLED))
        step = env.step(SAMPLED)
        recorder.reward(step.reward)
        if step.truncated:
            recorder.close("truncated", step.token_ids)
        elif step.rewritten:
            recorder.close("rewritten")
            recorder.open(step.token_ids)
        else:
            recorder.append(step.token_ids)
    return recorder.segments()


@pytest.mark.parametrize(
    ("num_turns", "shown"),
    [
        (3, "s o0 a0 o1 a1 o2 a2 o3"),
        (4, "s o0\n\nBefore:\na0 o1 a1 o2 a2 o3 a3 o4"),
        (5, "s o0\n\nBefore:\na0 o1 a1 o2 a2 o3 a3 o4 a4 o5"),
        (6, "s o0\n\nBefore:\na0 o1 a1 o2 a2 o3 a3 o4 a4 o5 a5 o6"),
    ],
)
def test_older_turns_give_way_to_a_summary_every_so_many_turns(num_turns: int, shown: str) -> None:
    history = Summary(2, every=2, summarise=words, opening="Before:")
    assert words(history.view(talk(num_turns))) == shown


def test_the_summary_joins_the_first_observation_so_that_roles_alternate() -> None:
    roles = [message.role for message in Summary(1, every=1).view(talk(4))]
    assert roles == ["system", "user", "assistant", "user"]


def test_it_is_a_message_of_its_own_where_no_observation_comes_first() -> None:
    messages = [message for message in talk(3) if message.text != "o0"]
    shown = Summary(1, every=1, summarise=words, opening="Before:").view(messages)
    assert [(message.role, message.text) for message in shown[:2]] == [
        ("system", "s"),
        ("user", "Before:\na0 o1 a1 o2"),
    ]


def test_summarise_is_called_once_for_each_renewal() -> None:
    seen: list[str] = []

    def summarise(messages: Sequence[Message]) -> str:
        seen.append(words(messages))
        return f"version {len(seen)}"

    play(Summary(2, every=3, summarise=summarise))
    assert [len(text.split("go")) - 1 for text in seen] == [3, 6]


def test_a_segment_holds_the_turns_between_two_renewals() -> None:
    segments = play(Summary(2, every=3))
    assert [len(segment.action_ranges) for segment in segments] == [5, 3, 1]
    assert [segment.stop_reason for segment in segments] == ["rewritten", "rewritten", "truncated"]


def test_its_segments_hold_what_was_sampled_and_what_was_shown() -> None:
    renderer, history = ByteRenderer(), Summary(2, every=3)
    segments = play(history)
    said = [
        segment.token_ids[start:end].tolist() for segment in segments for start, end in segment.action_ranges
    ]
    assert said == [SAMPLED] * NUM_TURNS
    messages, num_turns = [Message("system", CARD.system_prompt), Message("user", "room 0")], 0
    for segment in segments:
        for start, _ in segment.action_ranges:
            assert segment.token_ids[:start].tolist() == renderer.encode(history.view(messages))
            num_turns += 1
            messages += [Message("assistant", "go"), Message("user", f"room {num_turns}")]


@pytest.mark.parametrize("history", [Summary(1, every=1), Summary(1, every=2), Summary(3, every=2)])
def test_the_kit_accepts_it(history: Summary) -> None:
    check_token_env(TokenEnv(Corridor(), ByteRenderer(), history), act=lambda env: "nope").assert_ok()


def test_notes_say_what_was_done_and_how_what_came_of_it_begins() -> None:
    call = Message("assistant", "", tool_calls=(ToolCall("find", {"key": 1}),))
    told = notes(
        [Message("assistant", "go\nnorth"), Message("user", "x" * 200), call, Message("tool", "found")]
    )
    assert told == "- go north -> " + "x" * 160 + "…\n- find({'key': 1}) -> found"


def test_notes_stay_short_in_a_long_episode() -> None:
    lines = notes(talk(100)[2:]).splitlines()
    assert lines[:2] == ["(70 earlier turns are left out)", "- a70 -> o71"]
    assert len(lines) == NUM_NOTES + 1


@pytest.mark.parametrize(("num_turns", "every"), [(0, 1), (1, 0)])
def test_keeping_or_waiting_for_no_turn_is_refused(num_turns: int, every: int) -> None:
    with pytest.raises(ValueError, match="both are at least 1"):
        Summary(num_turns, every)
