"""If a test here breaks, training changed: the ids, masks and logprobs of one episode, written out.

`MergeRenderer` decodes two ids to the same text and encodes that text as another id, so that any decode and
re-encode of what was sampled would show.
"""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium
import numpy as np
import pytest

from molt_envs import (
    NOT_SAMPLED,
    ByteRenderer,
    EpisodeRecorder,
    Full,
    History,
    Message,
    ProtocolError,
    TokenEnv,
    ToolSchema,
    Window,
)
from molt_envs.checks import check_token_env
from tests.molt_envs.toy import register_toy

HE, LLO, HELLO, STOP, USER, ASSISTANT, OTHER = 1, 2, 3, 10, 11, 12, 13


class MergeRenderer:
    """`he` + `llo` and `hello` are the same text; encoding prefers `hello`. Counts what it encodes."""

    renderer_id = "merge-v1"
    stop_ids = (STOP,)
    vocab_size = 20

    def __init__(self) -> None:
        self.num_encoded = 0

    def encode(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> list[int]:
        return [i for message in messages for i in self._message(message)] + [ASSISTANT]

    def extend(
        self,
        messages: Sequence[Message],
        sampled_ids: Sequence[int],
        new_messages: Sequence[Message],
        tools: Sequence[ToolSchema] = (),
    ) -> list[int] | None:
        closing = [] if sampled_ids and sampled_ids[-1] == STOP else [STOP]
        return [*closing, *(i for message in new_messages for i in self._message(message)), ASSISTANT]

    def parse(self, token_ids: Sequence[int]) -> Message:
        texts = {HE: "he", LLO: "llo", HELLO: "hello"}
        return Message("assistant", "".join(texts.get(i, "") for i in token_ids))

    def write(self, message: Message) -> list[int]:
        return self._message(message)[1:]

    def _message(self, message: Message) -> list[int]:
        self.num_encoded += 1
        body = HELLO if message.text == "hello" else OTHER
        return [ASSISTANT if message.role == "assistant" else USER, body, STOP]


def token_env(renderer: MergeRenderer | ByteRenderer, history: History | None = None) -> TokenEnv:
    return TokenEnv(gymnasium.make(register_toy()), renderer, history or Full())


def record(env: TokenEnv, turns: list[list[int]]) -> EpisodeRecorder:
    """Play these turns; logprobs are -1, -2, …, the version is the turn."""
    recorder = EpisodeRecorder()
    prompt, info = env.reset(seed=0, options={"task_id": "train:0"})
    recorder.open(prompt)
    for turn, sampled in enumerate(turns):
        logprobs = [-1.0 - place for place in range(len(sampled))]
        recorder.action(sampled, logprobs, [turn] * len(sampled), info.get("state_key"))
        step = env.step(sampled)
        info = step.info
        recorder.reward(step.reward)
        if step.terminated or step.truncated:
            recorder.close("terminated" if step.terminated else "truncated", step.token_ids or None)
        elif step.rewritten:
            recorder.close("rewritten")
            recorder.open(step.token_ids)
        else:
            recorder.append(step.token_ids)
    return recorder


def test_the_ids_of_an_episode() -> None:
    recorder = record(token_env(MergeRenderer()), [[HE, LLO, STOP], [HELLO, STOP], [HE, LLO], [STOP]])
    (segment,) = recorder.segments()
    # fmt: off
    assert segment.token_ids.tolist() == [
        11, 13, 10, 11, 13, 10, 12,  # system, first observation, opening
        1, 2, 10,                    # he llo stop: sampled
        11, 13, 10, 12,              # observation, opening
        3, 10,                       # hello stop: sampled
        11, 13, 10, 12,
        1, 2,                        # he llo, cut before its stop
        10, 11, 13, 10, 12,          # the stop that was not sampled, observation, opening
        10,                          # an empty turn: its stop alone
    ]
    # fmt: on
    assert segment.action_ranges == ((7, 10), (14, 16), (20, 22), (27, 28))
    assert np.flatnonzero(segment.action_mask).tolist() == [7, 8, 9, 14, 15, 20, 21, 27]
    assert segment.loss_mask.tolist() == segment.action_mask.tolist()
    assert segment.logprobs[segment.action_mask].tolist() == [-1, -2, -3, -1, -2, -1, -2, -1]
    assert segment.policy_versions[segment.action_mask].tolist() == [0, 0, 0, 1, 1, 2, 2, 3]
    assert set(segment.logprobs[~segment.action_mask].tolist()) == {0.0}
    assert set(segment.policy_versions[~segment.action_mask].tolist()) == {NOT_SAMPLED}
    assert segment.rewards == (-0.1, -0.1, -0.1, -0.1)
    assert segment.state_keys == ("s", "hello", "hello", "hello")
    assert segment.stop_reason == "truncated"
    assert segment.bootstrap_ids is not None
    assert segment.bootstrap_ids.tolist() == [11, 13, 10, 12]


def test_sampled_ids_are_never_encoded_again() -> None:
    (segment,) = record(token_env(MergeRenderer()), [[HE, LLO, STOP]] * 4).segments()
    sampled = [segment.token_ids[start:end].tolist() for start, end in segment.action_ranges]
    assert sampled == [[HE, LLO, STOP]] * 4
    assert HELLO not in segment.token_ids.tolist()


def test_only_appended_text_is_encoded() -> None:
    renderer = MergeRenderer()
    env = token_env(renderer)
    env.reset(seed=0)
    for _ in range(3):
        before = renderer.num_encoded
        env.step([HE, LLO, STOP])
        assert renderer.num_encoded - before == 1


def test_a_stop_that_was_not_sampled_is_masked() -> None:
    (segment,) = record(token_env(MergeRenderer()), [[HE], [STOP], [STOP], [STOP]]).segments()
    start, end = segment.action_ranges[0]
    assert segment.token_ids[end] == STOP
    assert (bool(segment.action_mask[end]), float(segment.logprobs[end])) == (False, 0.0)
    assert end - start == 1


def test_a_window_that_slides_opens_a_segment() -> None:
    segments = record(token_env(MergeRenderer(), Window(1)), [[HELLO, STOP]] * 4).segments()
    assert [segment.stop_reason for segment in segments] == ["rewritten", "rewritten", "truncated"]
    assert [len(segment.action_ranges) for segment in segments] == [2, 1, 1]
    assert [segment.rewards for segment in segments] == [(-0.1, -0.1), (-0.1,), (-0.1,)]


def test_a_window_of_the_whole_episode_changes_nothing() -> None:
    full = record(token_env(MergeRenderer()), [[HELLO, STOP]] * 4).segments()
    wide = record(token_env(MergeRenderer(), Window(9)), [[HELLO, STOP]] * 4).segments()
    assert [s.token_ids.tolist() for s in full] == [s.token_ids.tolist() for s in wide]


def test_a_history_that_rewrites_at_equal_length_opens_a_segment() -> None:
    class Summary:
        """Shows the whole conversation, but rewords what is old."""

        def view(self, messages: Sequence[Message]) -> Sequence[Message]:
            return [Message("system", f"{len(messages)} messages"), *messages[1:]]

    env = token_env(ByteRenderer(), Summary())
    env.reset(seed=0)
    step = env.step([ord("x"), 260])
    assert step.rewritten
    assert step.token_ids == env.renderer.encode(Summary().view(env.messages))


def test_bytes_of_an_episode() -> None:
    env = token_env(ByteRenderer())
    prompt, _ = env.reset(seed=0, options={"task_id": "test:1"})
    observation = env.messages[1].text
    assert prompt == [256, *b"Say one word at a time.", 260, 257, *observation.encode(), 260, 258]
    step = env.step([*b" hi ", 260])
    assert step.token_ids == [257, *b"no, not hi", 260, 258]
    last = env.step([*env.env.unwrapped._secret.encode(), 260])
    assert (last.token_ids, last.terminated, last.reward) == ([], True, 1.0)


@pytest.mark.parametrize("num_logprobs", [0, 1, 3])
def test_ids_and_logprobs_of_different_lengths_are_refused(num_logprobs: int) -> None:
    recorder = EpisodeRecorder()
    recorder.open([1])
    with pytest.raises(ProtocolError, match="2 sampled ids"):
        recorder.action([1, 2], [-1.0] * num_logprobs, [0, 0])


@pytest.mark.parametrize("logprob", [None, float("nan"), float("-inf"), 0.01])
def test_a_missing_logprob_is_an_error_never_zero(logprob: float | None) -> None:
    recorder = EpisodeRecorder()
    recorder.open([1])
    recorder.action([5], [-0.5], [0])
    with pytest.raises(ProtocolError, match="logprob"):
        recorder.action([1, 2], [-1.0, logprob], [0, 0])  # type: ignore[list-item]
    recorder.close("unresolved")
    assert recorder.segments()[0].action_ranges == ((1, 2),)


def test_a_turn_resumed_in_two_halves_keeps_all_lengths_equal() -> None:
    recorder = EpisodeRecorder()
    recorder.open([1, 2])
    for version, half in enumerate(([3, 4], [5])):
        recorder.action(half, [-1.0] * len(half), [version] * len(half))
    recorder.append([9])
    recorder.close("terminated")
    (segment,) = recorder.segments()
    lengths = {
        len(segment.token_ids),
        len(segment.logprobs),
        len(segment.policy_versions),
        len(segment.loss_mask),
    }
    assert lengths == {6}
    assert segment.policy_versions.tolist() == [-1, -1, 0, 0, 1, -1]
    assert np.flatnonzero(segment.loss_mask).tolist() == [2, 3, 4]


@pytest.mark.parametrize("num_turns", [1, 2])
def test_length_is_kept_as_the_stop_reason(num_turns: int) -> None:
    recorder = EpisodeRecorder()
    recorder.open([1])
    for _ in range(num_turns):
        recorder.action([3, 4], [-1.0, -1.0], [0, 0])
        recorder.append([9])
    recorder.close("length")
    assert recorder.segments()[0].stop_reason == "length"


def test_truncation_and_an_action_that_says_nothing_are_different_things() -> None:
    env = token_env(MergeRenderer())
    env.reset(seed=0)
    steps = [env.step([STOP]) for _ in range(4)]
    assert [(step.terminated, step.truncated) for step in steps] == [(False, False)] * 3 + [(False, True)]
    assert {step.reward for step in steps} == {-0.1}


@pytest.mark.parametrize("history", [Full(), Window(1), Window(2)])
def test_the_kit_accepts_it(history: History) -> None:
    check_token_env(token_env(ByteRenderer(), history), act=lambda env: "nope").assert_ok()
