"""Every way in which an episode can end, with its tokens, masks, rewards and scores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from molt_envs import Episode, Message, Window
from molt_train.data.tasks import derive_seed
from molt_train.rollout.engine import EngineError, Generation, Sampling
from molt_train.rollout.episode import run_episode
from tests.molt_train.rollout.probe_env import (
    BAD_RESET,
    CARD,
    END,
    HANG_S,
    RENDERER,
    SAMPLING,
    Probes,
    play,
    play_one,
    request,
    scripted,
)


def conversation(*said: str, last: str | None = None) -> list[int]:
    """The ids of the whole conversation, rendered at once."""
    messages = [Message("system", CARD.system_prompt), Message("user", "room 3")]
    for word in said:
        messages += [Message("assistant", word), Message("user", f"after {word}")]
    ids = RENDERER.encode(messages)
    return ids if last is None else [*ids, *last.encode(), END]


def test_terminated() -> None:
    episode = play_one("wait", "win")
    (segment,) = episode.segments
    assert (episode.outcome, segment.stop_reason) == ("terminated", "terminated")
    assert (episode.score, episode.success, episode.reason) == (1.0, True, "")
    assert segment.token_ids.tolist() == conversation("wait", last="win")
    assert segment.rewards == (0.25, 1.0) and episode.reward == 1.25
    assert segment.state_keys == ("start", "wait")
    assert segment.bootstrap_ids is None
    spoken = [segment.token_ids[start:end].tolist() for start, end in segment.action_ranges]
    assert spoken == [[*b"wait", END], [*b"win", END]]
    assert np.array_equal(segment.loss_mask, segment.action_mask)
    assert segment.logprobs[segment.action_mask].tolist() == [-0.5] * 9


def test_truncated_keeps_what_the_policy_would_have_seen() -> None:
    episode = play_one("a", "b", "c")
    (segment,) = episode.segments
    assert (episode.outcome, segment.stop_reason) == ("truncated", "truncated")
    assert (episode.score, episode.success) == (0.5, False)
    assert segment.bootstrap_ids is not None
    whole = [*segment.token_ids.tolist(), *segment.bootstrap_ids.tolist()]
    assert whole == conversation("a", "b", "c")
    assert segment.token_ids.tolist() == conversation("a", "b", last="c")


def test_a_turn_at_its_limit_ends_the_episode_unacted() -> None:
    probes = Probes()
    episode = play_one("wait", "win", max_tokens=4, probes=probes)
    (segment,) = episode.segments
    assert (episode.outcome, segment.stop_reason) == ("length", "length")
    assert segment.token_ids.tolist()[-4:] == [*b"wait"]
    assert segment.rewards == (0.0,) and (episode.score, episode.success) == (0.0, False)
    assert probes.built[0].acted == []


def test_a_turn_cut_by_the_context_is_of_length_too() -> None:
    room = len(conversation()) + 2
    episode = play_one("wait", "win", max_context_tokens=room)
    assert episode.outcome == episode.segments[0].stop_reason == "length"
    assert len(episode.segments[0].token_ids) == room


def test_a_prompt_that_outgrows_the_context_ends_by_length() -> None:
    episode = play_one("wait", "win", max_context_tokens=len(conversation("wait")))
    (segment,) = episode.segments
    assert (episode.outcome, segment.stop_reason, segment.rewards) == ("length", "length", (0.25,))
    assert episode.score == 0.5


def test_a_first_prompt_longer_than_the_context_is_unresolved_and_says_so() -> None:
    episode = play_one("win", max_context_tokens=5)
    assert (episode.outcome, episode.segments, episode.score) == ("unresolved", (), None)
    assert "PromptTooLong" in episode.reason and "5" in episode.reason


def test_a_fault_of_the_policy_is_failed_and_earned_nothing() -> None:
    episode = play_one("wait", "blame")
    (segment,) = episode.segments
    assert (episode.outcome, segment.stop_reason) == ("failed", "failed")
    assert segment.rewards == (0.25, 0.0)
    assert (episode.score, episode.success) == (0.5, False)
    assert "that move is forbidden" in episode.reason


@pytest.mark.parametrize(
    ("word", "reason"), [("crash", "the floor is gone"), ("nan", "score nan"), ("rich", "reward 7.0")]
)
def test_a_fault_of_the_environment_is_unresolved_and_unscored(word: str, reason: str) -> None:
    episode = play_one("wait", word)
    assert episode.outcome == "unresolved" and reason in episode.reason
    assert (episode.score, episode.success, episode.reward) == (None, None, None)


def test_an_environment_that_hangs_is_unresolved_by_name() -> None:
    with pytest.warns(UserWarning, match="did not close within 0.1 s"):
        (episode,) = play({3: ["hang"]}, env_timeout_s=HANG_S / 4)
    assert episode.outcome == "unresolved"
    assert f"step of train:3 did not return within {HANG_S / 4} s" in episode.reason


def test_a_reset_that_raises_is_unresolved_without_segments() -> None:
    (episode,) = play({BAD_RESET: ["win"]})
    assert (episode.outcome, episode.segments) == ("unresolved", ())
    assert "the door is locked" in episode.reason


def test_a_rewritten_prompt_opens_a_segment() -> None:
    episode = play_one("a", "b", "win", probes=Probes(history=Window(1)))
    assert [segment.stop_reason for segment in episode.segments] == ["rewritten", "terminated"]
    assert [segment.rewards for segment in episode.segments] == [(0.25, 0.25), (1.0,)]
    first = [Message("system", CARD.system_prompt), Message("user", "room 3")]
    later = [*first, Message("assistant", "b"), Message("user", "after b")]
    assert episode.segments[1].token_ids.tolist() == [*RENDERER.encode(later), *b"win", END]
    assert episode.reward == 1.5 and episode.num_turns == 3


class Session:
    """A session that answers with what it was made with, and keeps what it was asked."""

    def __init__(self, *answers: Generation | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[list[int], Sampling]] = []

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        self.asked.append((list(prompt_ids), sampling))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        pass


def with_session(session: Session) -> Episode:
    with ThreadPoolExecutor(1) as executor:
        return asyncio.run(run_episode(request(3), Probes()(), session, SAMPLING, executor, 5.0))


def said(word: str, version: int = 0, logprob: float = -0.5) -> Generation:
    ids = [*word.encode(), END]
    return Generation(ids, [logprob] * len(ids), [version] * len(ids), "stop")


def test_the_next_prompt_is_what_was_said_and_each_turn_has_its_seed() -> None:
    session = Session(said("wait"), said("win"))
    with_session(session)
    assert [asked for asked, _ in session.asked] == [conversation(), conversation("wait")]
    assert [sampling.seed for _, sampling in session.asked] == [derive_seed(7, 0), derive_seed(7, 1)]


def test_versions_are_kept_per_token() -> None:
    episode = with_session(Session(said("wait", 4), said("win", 5)))
    segment = episode.segments[0]
    assert segment.policy_versions[segment.action_mask].tolist() == [4] * 5 + [5] * 4
    assert set(segment.policy_versions[~segment.action_mask].tolist()) == {-1}


@pytest.mark.parametrize("logprob", [float("nan"), float("-inf"), None])
def test_a_missing_logprob_is_unresolved(logprob: float) -> None:
    episode = with_session(Session(said("wait"), said("win", logprob=logprob)))
    assert episode.outcome == "unresolved" and "logprob" in episode.reason


def test_an_engine_that_fails_is_unresolved() -> None:
    episode = with_session(Session(said("wait"), EngineError("out of memory")))
    assert episode.outcome == "unresolved" and "out of memory" in episode.reason


def test_the_script_finds_its_task() -> None:
    assert play({12: ["win"], 1: ["wait", "win"]}, engine=scripted({12: ["win"], 1: ["wait", "win"]}))[
        0
    ].success
