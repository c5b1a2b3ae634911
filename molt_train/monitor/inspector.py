"""The token inspector: an episode in the terminal, token by token.

In: samples, from a run's folder or a file of episodes. Out: text: what was shown is dim, what
was sampled is coloured by its probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from molt_envs import Episode, read_episodes
from molt_train.monitor.samples import Decode, Sample, make_sample, read_samples, sample_files
from molt_train.monitor.token_runs import Token, TokenRun, token_runs

_STYLES: tuple[tuple[float, str], ...] = ((0.9, "green"), (0.5, "yellow"), (0.1, "dark_orange"), (0.0, "red"))


def load_samples(path: Path, decode: Decode | None = None) -> list[Sample]:
    """Samples of a run's folder (its newest file), a file of samples, or a file of episodes.

    Args:
        path: folder or file.
        decode: turns ids into text; only files of bare episodes need it, and show ids without it.

    Raises:
        ValueError: there are none, or the file is broken.
    """
    if path.is_dir():
        files = sample_files(path)
        if not files:
            raise ValueError(
                f"{path} has no sample episodes (episodes/step-*.jsonl); set run.num_samples above 0"
            )
        return read_samples(files[-1])
    if not path.is_file():
        raise ValueError(f"no run folder and no file of episodes at {path}")
    if path.suffix == ".jsonl":
        return read_samples(path)
    return [make_sample(0, path.stem, episode, decode or _show_ids) for episode in read_episodes(path)]


def list_samples(samples: Sequence[Sample]) -> Table:
    """One row per episode."""
    table = Table("#", "task", "outcome", "success", "score", "turns", "sampled tokens", "step", "label")
    for index, sample in enumerate(samples):
        episode = sample.episode
        score = "–" if episode.score is None else f"{episode.score:.3f}"
        table.add_row(
            str(index), episode.task_id, episode.outcome, _yes_no(episode.success), score,
            str(episode.num_turns), str(episode.num_action_tokens), str(sample.step), sample.label,
        )  # fmt: skip
    return table


def show_sample(sample: Sample, as_table: bool = False) -> Group:
    """The whole episode: coloured text, or a table with one row per token."""
    parts: list[RenderableType] = [headline(sample.episode)]
    for number, (segment, pieces) in enumerate(zip(sample.episode.segments, sample.pieces, strict=True)):
        parts.append(Rule(f"segment {number}: {len(segment.token_ids)} tokens, ended: {segment.stop_reason}"))
        runs = token_runs(segment, pieces)
        parts.append(_table(runs) if as_table else _text(runs))
    if not as_table:
        parts.append(legend())
    return Group(*parts)


def headline(episode: Episode) -> Text:
    """What the episode was and how it ended."""
    score = "unscored" if episode.score is None else f"score {episode.score:.3f}"
    text = Text.assemble(
        (f"{episode.env_id} {episode.task_id}", "bold"),
        f"  {episode.outcome}  {score}  success {_yes_no(episode.success)}  {episode.num_turns} turns",
    )
    return text.append(f"  {episode.reason}", "red") if episode.reason else text


def legend() -> Text:
    """What the colours mean."""
    text = Text("\nshown to the policy", "dim").append("  sampled with probability ", "not dim")
    for low, style in _STYLES:
        text.append(f" ≥ {low:g} " if low else " below ", style)
    return text.append("  ~~not trained on~~", "strike")


def token_style(token: Token) -> str:
    """The colour of a token."""
    if token.logprob is None:
        return "dim"
    probability = math.exp(min(token.logprob, 0.0))
    colour = next(style for low, style in _STYLES if probability >= low)
    return colour if token.is_trained else f"{colour} strike"


def _text(runs: Sequence[TokenRun]) -> Text:
    text = Text()
    for run in runs:
        for token in run.tokens:
            text.append(token.text, token_style(token))
        if run.reward is not None:
            text.append(f" [reward {run.reward:g}]", "bold cyan")
    return text


def _table(runs: Sequence[TokenRun]) -> Table:
    table = Table("k", "id", "text", "sampled", "trained", "logprob", "version", "reward")
    index = 0
    for run in runs:
        for token in run.tokens:
            is_last = token is run.tokens[-1]
            table.add_row(
                str(index), str(token.token_id), Text(repr(token.text), token_style(token)),
                "yes" if run.is_action else "", "yes" if token.is_trained else "",
                "" if token.logprob is None else f"{token.logprob:.4f}",
                "" if token.policy_version is None else str(token.policy_version),
                f"{run.reward:g}" if is_last and run.reward is not None else "",
            )  # fmt: skip
            index += 1
    return table


def print_samples(console: Console, samples: Sequence[Sample], index: int | None, as_table: bool) -> None:
    """Print the list of samples, or the one at `index`. Raises `ValueError` when there is no such one."""
    if index is None:
        console.print(list_samples(samples))
        return
    if not 0 <= index < len(samples):
        raise ValueError(f"there is no episode {index}; there are {len(samples)}, counted from 0")
    console.print(show_sample(samples[index], as_table))


def _show_ids(token_ids: Sequence[int]) -> str:
    return "".join(f"⟨{token_id}⟩" for token_id in token_ids)


def _yes_no(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "no"
