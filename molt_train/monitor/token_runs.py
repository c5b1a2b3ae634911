"""A segment cut where the speaker changes: what the policy was shown, what it sampled.

In: a `Segment` and its tokens' texts. Out: `TokenRun`s in order, for the inspector and the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from molt_envs import Segment


@dataclass(frozen=True)
class Token:
    """One token as people see it."""

    token_id: int
    """Its id."""
    text: str
    """The text that it adds."""
    logprob: float | None
    """Of the sampled distribution; None for a token that was not sampled."""
    policy_version: int | None
    """Version of the weights that sampled it; None for a token that was not sampled."""
    is_trained: bool
    """Whether it enters the loss."""


@dataclass(frozen=True)
class TokenRun:
    """Neighbouring tokens of one kind."""

    is_action: bool
    """Sampled by the policy, in one turn; else a prompt or an observation."""
    tokens: tuple[Token, ...]
    """At least one."""
    reward: float | None
    """The turn's reward; None for observations and unscored turns."""

    @property
    def text(self) -> str:
        """All tokens' text."""
        return "".join(token.text for token in self.tokens)


def token_runs(segment: Segment, pieces: Sequence[str]) -> list[TokenRun]:
    """The runs of a segment; together they hold every token once."""
    num_tokens = len(segment.token_ids)
    if len(pieces) != num_tokens:
        raise ValueError(
            f"{len(pieces)} texts for {num_tokens} tokens; the sample does not belong to its episode"
        )
    runs: list[TokenRun] = []
    position = 0
    for (start, end), reward in zip(segment.action_ranges, segment.rewards, strict=True):
        if position < start:
            runs.append(TokenRun(False, _tokens(segment, pieces, position, start, False), None))
        runs.append(TokenRun(True, _tokens(segment, pieces, start, end, True), reward))
        position = end
    if position < num_tokens:
        runs.append(TokenRun(False, _tokens(segment, pieces, position, num_tokens, False), None))
    return runs


def _tokens(
    segment: Segment, pieces: Sequence[str], start: int, end: int, is_action: bool
) -> tuple[Token, ...]:
    return tuple(
        Token(
            token_id=int(segment.token_ids[index]),
            text=pieces[index],
            logprob=float(segment.logprobs[index]) if is_action else None,
            policy_version=int(segment.policy_versions[index]) if is_action else None,
            is_trained=bool(segment.loss_mask[index]),
        )
        for index in range(start, end)
    )
