"""The commands `molt-envs eval` and `molt-envs replay`.

In: arguments. Out: a folder with `episodes.jsonl`, `summary.json`, `report.html`, and a table on the screen;
for a replay, where it differs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import gymnasium
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from molt_envs.env import AgentEnv
from molt_envs.errors import boundary
from molt_envs.evaluate import runner
from molt_envs.evaluate.openai import OpenAISource, parse_openai
from molt_envs.evaluate.policy import BUILT_IN, BuiltIn, PolicySource, from_python
from molt_envs.evaluate.record import EpisodeRecord, read_records
from molt_envs.evaluate.replay import replay as replay_episode
from molt_envs.evaluate.report import write_report
from molt_envs.evaluate.statistics import Estimate
from molt_envs.evaluate.summary import EnvSummary, Prices, summarise
from molt_envs.evaluate.workers import Environments
from molt_envs.registry import entries, resolve

UNRESOLVED_STATUS = 1
"""Exit status when not one episode was resolved."""
INTERRUPTED_STATUS = 130
"""Exit status after Ctrl-C, as shells have it."""
REPLAY_TIMEOUT_S = 600.0
"""Bound of one call of an environment while a recorded episode is played back."""


def evaluate(
    env_id: Annotated[str, typer.Argument(metavar="ID|all", help="environment id, or all of them")],
    policy: Annotated[
        str,
        typer.Option(help="oracle, random, script, nothing, blind, openai:MODEL@URL or python:module:name"),
    ] = "oracle",
    episodes: Annotated[int, typer.Option(min=1, help="tasks of each environment")] = 50,
    split: Annotated[str, typer.Option(help="which split's tasks")] = "test",
    samples: Annotated[int, typer.Option(min=1, help="episodes of each task; pass@k up to this k")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, help="episodes at once, a thread each")] = 8,
    out: Annotated[Path | None, typer.Option(help="folder; a second start goes on in it")] = None,
    seed: Annotated[int, typer.Option(min=0, help="same seed, same episodes")] = 0,
    temperature: Annotated[float, typer.Option(min=0, help="for models; 0 is greedy")] = 1.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="most tokens of a model's turn")] = 512,
    timeout_s: Annotated[float, typer.Option(min=0.1, help="longest time of an episode")] = 600.0,
    price_in: Annotated[float, typer.Option(min=0, help="price of 1M tokens read")] = 0.0,
    price_out: Annotated[float, typer.Option(min=0, help="price of 1M tokens written")] = 0.0,
    key_env: Annotated[str, typer.Option(help="variable with the server's key")] = "OPENAI_API_KEY",
    parquet: Annotated[bool, typer.Option("--parquet", help="write episodes.parquet too")] = False,
) -> None:
    """Play an environment's tasks with a policy; write results and a report in which every turn can be read.

    Every episode has a thread of its own and a time-out; unbounded environments run in processes.
    What a server or an environment broke is unresolved: counted apart, never as zero, and tried again by a
    second start.
    """
    console = Console(highlight=False)
    try:
        sizes = _sizes(console, env_id, split)
        settings = runner.Settings(
            policy, tuple(sizes), split, episodes, samples, seed, temperature, max_tokens
        )
        folder = out or Path("runs") / "eval" / _slug(f"{env_id}-{policy}")
        source = make_source(policy, os.environ.get(key_env))
        try:
            _play(console, settings, sizes, source, folder, concurrency, timeout_s)
        finally:
            source.close()
        records = runner.latest(folder)
        prices = Prices(price_in, price_out)
        summaries = summarise(records, prices)
        _write(folder, settings, records, summaries, parquet)
    except KeyboardInterrupt:
        typer.echo("molt-envs: stopped; the same command goes on where this one was", err=True)
        raise typer.Exit(INTERRUPTED_STATUS) from None
    except (OSError, ValueError) as error:
        typer.echo(f"molt-envs: {error}", err=True)
        raise typer.Exit(2) from error
    _show(console, summaries, folder)
    if all(one.num_tasks == 0 for one in summaries):
        raise typer.Exit(UNRESOLVED_STATUS)


def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="episodes.jsonl of an evaluation, or its folder")
    ],
    episode: Annotated[str | None, typer.Option(help="play only this episode_id")] = None,
) -> None:
    """Play recorded episodes back and verify that everything comes out the same; exit status 1 if not."""
    console = Console(highlight=False, markup=False)
    path = file / runner.EPISODES if file.is_dir() else file
    num_same = num_other = num_skipped = 0
    if not path.is_file():
        typer.echo(
            f"molt-envs: {path} is no file; name the folder of an evaluation, or its episodes", err=True
        )
        raise typer.Exit(2)
    try:
        with Environments(REPLAY_TIMEOUT_S) as environments:
            for record in read_records(path):
                if episode not in (None, record.episode_id):
                    continue
                if record.outcome == "unresolved":
                    num_skipped += 1
                    continue
                difference: object = None
                with boundary() as result:
                    difference = replay_episode(environments.get(record.env_id), record)
                difference = difference if result.failure is None else result.failure.reason
                num_same, num_other = num_same + (difference is None), num_other + (difference is not None)
                if difference is not None:
                    console.print(f"DIFFERS {record.episode_id}: {difference}", soft_wrap=True)
    except (OSError, ValueError) as error:
        typer.echo(f"molt-envs: {error}", err=True)
        raise typer.Exit(2) from error
    if not (num_same or num_other or num_skipped):
        typer.echo(f"molt-envs: {path} has no episode {episode or ''}".rstrip(), err=True)
        raise typer.Exit(2)
    console.print(f"{num_same} the same, {num_other} different, {num_skipped} unresolved and left out")
    if num_other:
        raise typer.Exit(1)


def make_source(policy: str, api_key: str | None = None) -> PolicySource:
    """The source that `--policy` names.

    Raises:
        ValueError: it names none.
    """
    kind, _, rest = policy.partition(":")
    if policy in BUILT_IN:
        return BuiltIn(policy)
    if kind == "openai":
        model, url = parse_openai(rest)
        return OpenAISource(model, url, api_key)
    if kind == "python":
        return from_python(rest)
    raise ValueError(
        f"unknown policy {policy!r}; it is one of {', '.join(BUILT_IN)}, openai:MODEL@URL, python:module:name"
    )


def _sizes(console: Console, env_id: str, split: str) -> dict[str, int]:
    """The size of the split by environment; with `all`, what cannot be evaluated is named and left out."""
    chosen = [entry.env_id for entry in entries()] if env_id == "all" else [resolve(env_id).env_id]
    sizes: dict[str, int] = {}
    for one in chosen:
        with boundary() as result:
            sizes[one] = _size(one, split)
        if result.failure is None:
            continue
        if env_id != "all":
            reason = result.failure.reason.removeprefix("ValueError: ")
            raise ValueError(f"{one} cannot be evaluated: {reason}")
        console.print(f"left out: {one}: {result.failure.reason}", markup=False, soft_wrap=True)
    if not sizes:
        raise ValueError(
            f"no environment can be evaluated on the split {split!r}; `molt-envs list` shows why"
        )
    return sizes


def _size(env_id: str, split: str) -> int:
    env: gymnasium.Env[str, str] = gymnasium.make(env_id, disable_env_checker=True)
    base = env.unwrapped
    try:
        if not isinstance(base, AgentEnv):
            raise ValueError(f"{env_id} is not an environment of text tasks and cannot be evaluated here")
        if base.card.splits.get(split, 0) < 1:
            raise ValueError(f"{env_id} has no split {split!r}; it has {', '.join(base.card.splits)}")
        return base.card.splits[split]
    finally:
        env.close()


def _play(
    console: Console,
    settings: runner.Settings,
    sizes: dict[str, int],
    source: PolicySource,
    folder: Path,
    concurrency: int,
    timeout_s: float,
) -> None:
    known = runner.open_folder(folder, settings)
    jobs = runner.plan(settings, sizes)
    left = [job for job in jobs if job.episode_id not in known]
    if known:
        console.print(f"{len(known)} of {len(jobs)} episodes are there; going on with {len(left)}")
    num_solved, num_unresolved = sum(record.success is True for record in known.values()), 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(
            settings.policy[-30:], total=len(jobs), completed=len(jobs) - len(left), note=""
        )

        def ended(record: EpisodeRecord) -> None:
            nonlocal num_solved, num_unresolved
            num_solved += record.success is True
            num_unresolved += record.outcome == "unresolved"
            progress.update(bar, advance=1, note=f"{num_solved} solved, {num_unresolved} unresolved")

        runner.run(left, source, settings, folder, concurrency, timeout_s, ended)


def _write(
    folder: Path,
    settings: runner.Settings,
    records: Sequence[EpisodeRecord],
    summaries: Sequence[EnvSummary],
    parquet: bool,
) -> None:
    values = {"settings": asdict(settings), "environments": [asdict(one) for one in summaries]}
    (folder / "summary.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    write_report(folder / "report.html", settings, records, summaries)
    if parquet:
        try:
            from molt_envs.protocol.parquet import write_rows
        except ImportError as error:
            raise ValueError("--parquet needs pyarrow: pip install 'molt-rl[parquet]'") from error
        write_rows(
            folder / "episodes.parquet",
            [asdict(one) | {"turns": list(map(asdict, one.turns))} for one in records],
        )


def _show(console: Console, summaries: Sequence[EnvSummary], folder: Path) -> None:
    table = Table("environment", "tasks", "solved, 95 % interval", "score", "turns", "unresolved")
    for one in summaries:
        solved = [f"pass@{k} {_percent(estimate)}" for k, estimate in one.passes.items()]
        table.add_row(
            one.env_id,
            str(one.num_tasks),
            "\n".join(solved) or "–",
            "–" if one.score is None else f"{one.score.value:.3f}",
            f"{one.num_turns:.1f}",
            f"{one.num_unresolved} of {one.num_episodes}",
        )
    console.print(table, markup=False)
    num_read = sum(one.num_prompt_tokens for one in summaries)
    num_written = sum(one.num_completion_tokens for one in summaries)
    cost = sum(one.cost for one in summaries)
    if num_read + num_written:
        price = f", cost {cost:.4f}" if cost else ""
        console.print(f"tokens: {num_read:,} read, {num_written:,} written{price}")
    for one in summaries:
        if one.reason:
            console.print(f"unresolved in {one.env_id}, first: {one.reason}", markup=False, soft_wrap=True)
    console.print(f"report: {folder / 'report.html'}", markup=False, soft_wrap=True)


def _percent(estimate: Estimate) -> str:
    return f"{estimate.value:.1%} [{estimate.low:.1%}, {estimate.high:.1%}]"


def _slug(text: str) -> str:
    return re.sub(r"[^\w.]+", "-", text).strip("-")[:100]
