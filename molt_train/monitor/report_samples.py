"""The report's sample episodes, turn by turn, with every token. In: samples. Out: HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from molt_train.monitor.html import details
from molt_train.monitor.samples import Sample
from molt_train.monitor.token_runs import Token, TokenRun, token_runs

_LEVELS = (0.1, 0.5, 0.9)
_LONG_PROMPT_CHARS = 400

LEGEND = (
    '<p class="note legend">Grey: what the policy was shown. Sampled tokens by probability: '
    '<i class="p0">&lt; 10 %</i><i class="p1">10–50 %</i><i class="p2">50–90 %</i><i class="p3">≥ 90 %</i>; '
    "struck through: not trained on. "
    "Point at a token for its id, logprob and policy version.</p>"
)


def sample_episodes(samples: Sequence[Sample]) -> str:
    """All samples, folded, the last one open."""
    return LEGEND + "".join(_episode(sample, sample is samples[-1]) for sample in samples)


def _episode(sample: Sample, is_open: bool) -> str:
    episode = sample.episode
    score = "unscored" if episode.score is None else f"score {episode.score:.3f}"
    mark = "" if episode.success is None else "✓ " if episode.success else "✗ "
    note = f"{episode.outcome}, {score}, {episode.num_turns} turns, {sample.label} after step {sample.step}"
    body = f'<p class="note">{escape(episode.reason)}</p>' if episode.reason else ""
    for index, (segment, pieces) in enumerate(zip(episode.segments, sample.pieces, strict=True)):
        if len(episode.segments) > 1:
            body += f'<p class="who">segment {index}, ended: {segment.stop_reason}</p>'
        for run in token_runs(segment, pieces):
            body += _run(run)
    return details(f"{mark}{episode.task_id}", body, note, is_open)


def _run(run: TokenRun) -> str:
    if not run.is_action:
        shown = f'<div class="run">{escape(run.text.strip())}</div>'
        if len(run.text) <= _LONG_PROMPT_CHARS:
            return shown
        first = run.text.strip().partition("\n")[0][:60]
        return details("shown", shown, f"{len(run.tokens)} tokens: {first}…")
    reward = "" if run.reward is None else f" · reward {run.reward:g}"
    tokens = "".join(_token(token) for token in run.tokens)
    who = f'<p class="who"><b>policy</b> · {len(run.tokens)} tokens{reward}</p>'
    return f'{who}<div class="run action">{tokens}</div>'


def _token(token: Token) -> str:
    assert token.logprob is not None
    probability = math.exp(min(token.logprob, 0.0))
    css = f"p{sum(probability >= level for level in _LEVELS)}" + ("" if token.is_trained else " untrained")
    told = f"id {token.token_id}, logprob {token.logprob:.3f}, policy version {token.policy_version}"
    return f'<i class="{css}" title="{told}">{escape(token.text) or "​"}</i>'
