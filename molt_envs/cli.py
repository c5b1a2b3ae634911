"""The command `molt-envs`: what environments there are, what one is like, and playing or checking one.

In: arguments and, when playing, typed actions. Out: text or JSON; exit status 2 for what the user must mend.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import gymnasium
import typer
from rich.console import Console
from rich.table import Table

from molt_envs.catalog import EnvEntry
from molt_envs.env import AgentEnv
from molt_envs.errors import DataError, TaskError, UnknownEnvError
from molt_envs.evaluate import commands as evaluation
from molt_envs.evaluate import listing
from molt_envs.protocol.images import Observation, images_of, text_of
from molt_envs.registry import entries, resolve, suggestions
from molt_envs.scaffold import commands as scaffold

app = typer.Typer(
    help=(
        "Environments for language-model agents.\n\n"
        "`list` and `search` show what there is, `info ID` what one environment expects and gives, `play ID` "
        "lets you act in it by hand, `check ID` attacks one and says what to mend. `eval ID` lets a policy "
        "play and writes a report, `replay` verifies what was recorded, `new` begins an environment of your "
        "own. ID is an id such as molt/WebShop-v0; molt/ may be left out."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

EnvId = Annotated[str, typer.Argument(metavar="ID", help="environment id; `molt/` may be left out")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for programs")]
Measure = Annotated[bool, typer.Option("--measure", help="measure how long steps take; a second each")]
NUM_SHOWN_ACTIONS = 20

app.command("eval")(evaluation.evaluate)
app.command("replay")(evaluation.replay)
app.command("new")(scaffold.new)


@app.command("list")
def list_environments(as_json: AsJson = False, measure: Measure = False) -> None:
    """List the environments that are installed, with their splits, licence and rewards."""
    _show_rows([listing.listed(entry, measure) for entry in entries()], as_json)


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="all of them must occur")],
    as_json: AsJson = False,
) -> None:
    """Find environments by words in ids, summaries, prompts, tools and licences; exit status 1 if none."""
    found = listing.search([listing.listed(entry) for entry in entries()], words)
    _show_rows(found, as_json)
    if not found:
        near = suggestions(" ".join(words))
        hint = f"did you mean {' or '.join(near)}?" if near else "`molt-envs list` shows all"
        typer.echo(f"molt-envs: no environment has {' and '.join(words)}; {hint}", err=True)
        raise typer.Exit(1)


@app.command()
def info(env_id: EnvId, as_json: AsJson = False, measure: Measure = False) -> None:
    """Show what an environment tells the policy, which actions it takes, its rewards and its tasks."""
    entry = _resolve(env_id)
    with _made(entry) as env:
        facts = _facts(entry, env)
        base = env.unwrapped
        if measure and isinstance(base, AgentEnv):
            facts["latency"] = dataclasses.asdict(listing.measure_latency(env, base))
    if as_json:
        _print_json(facts)
        return
    table = Table(show_header=False)
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), value if isinstance(value, str) else json.dumps(value))
    Console().print(table, markup=False)


@app.command()
def play(
    env_id: EnvId,
    seed: Annotated[int, typer.Option(min=0, help="same seed, same episode")] = 0,
    split: Annotated[str | None, typer.Option(help="split to draw the task from")] = None,
    task: Annotated[str | None, typer.Option(help="task id, such as test:3")] = None,
    image: Annotated[
        Path | None, typer.Option(help="PNG file for what is shown; by default a new one")
    ] = None,
) -> None:
    """Play one episode by hand: type an action and Enter; `:q` or the end of input quits.

    What an environment of images shows is written to a file, anew in every turn.
    """
    console = Console(highlight=False, markup=False)
    options = {key: value for key, value in (("split", split), ("task_id", task)) if value is not None}
    with _made(_resolve(env_id)) as env:
        try:
            observation, facts = env.reset(seed=seed, options=options)
        except TaskError as error:
            _fail(str(error))
        base = env.unwrapped
        if isinstance(base, AgentEnv):
            console.print(f"{base.card.system_prompt}\n", style="dim")
        _play(console, env, observation, facts, image)


@app.command()
def check(
    env_ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="environments' ids")] = None,
    every: Annotated[bool, typer.Option("--all", help="check every registered environment")] = False,
    full: Annotated[bool, typer.Option("--full/--quick", help="minutes for each, or seconds")] = False,
    as_json: AsJson = False,
) -> None:
    """Check environments: contract, determinism, endings, leaks, attacks. Exit status 1 if a check fails."""
    from molt_envs.checks import command

    if bool(env_ids) == every:
        _fail("check takes environments' ids, or --all; `molt-envs list` names them")
    chosen = [_resolve(env_id).env_id for env_id in env_ids or [entry.env_id for entry in entries()]]
    found = command.check_all(chosen, "full" if full else "quick", quiet=as_json)
    if as_json:
        typer.echo(command.as_json(found))
    else:
        command.show(found, Console())
    raise typer.Exit(command.exit_status(found))


def _play(
    console: Console,
    env: gymnasium.Env[Observation, str],
    observation: Observation,
    facts: dict[str, Any],
    image: Path | None,
) -> None:
    total, num_steps, over = 0.0, 0, False
    if image is None and images_of(observation):
        image = Path(tempfile.mkdtemp(prefix="molt-"), "image.png")
    while not over:
        _print_observation(console, observation, image)
        _show_actions(console, facts)
        action = _ask(console)
        if action is None:
            break
        observation, reward, terminated, truncated, facts = env.step(action)
        total, num_steps, over = total + float(reward), num_steps + 1, terminated or truncated
        console.print(f"reward {float(reward):g}\n", style="dim")
    else:
        _print_observation(console, observation, image)
    ending = "over" if over else "left"
    solved = "solved" if facts.get("success") else "not solved"
    console.print(
        f"{ending} after {num_steps} steps of {facts.get('task_id', 'a task')}: "
        f"score {facts.get('score', 'unknown')}, {solved}, sum of rewards {total:g}"
    )


def _print_observation(console: Console, observation: Observation, file: Path | None) -> None:
    """The text, and the image as a file that each turn writes anew, so that a viewer can follow it."""
    console.print(_printable(text_of(observation)))
    images = images_of(observation)
    if file is not None and images:
        height, width, _ = images[0].pixels.shape
        try:
            file.write_bytes(images[0].png())
        except OSError as error:
            _fail(f"the image cannot be written to {file}: {error.strerror}; name another file with --image")
        console.print(f"image, {width} x {height} pixels: {file.resolve()}", style="cyan", soft_wrap=True)


def _show_actions(console: Console, facts: dict[str, Any]) -> None:
    actions: tuple[str, ...] = tuple(facts.get("admissible_actions", ()))
    if actions:
        more = len(actions) - NUM_SHOWN_ACTIONS
        shown = "   ".join(actions[:NUM_SHOWN_ACTIONS]) + (f"   … and {more} more" if more > 0 else "")
        console.print(f"you can: {_printable(shown)}", style="cyan")


def _printable(text: str) -> str:
    """The text with control characters and surrogates written as escapes, so that no terminal obeys them."""
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cs")
        else char
        for char in text
    )


def _ask(console: Console) -> str | None:
    console.print("> ", end="")
    line = sys.stdin.readline()
    if not line or line.strip() == ":q":
        return None
    return line.rstrip("\r\n")


def _show_rows(rows: list[listing.Listed], as_json: bool) -> None:
    if as_json:
        _print_json([_row_values(row) for row in rows])
        return
    for row in rows:
        typer.secho(row.entry.env_id, bold=True)
        typer.echo(f"  {row.entry.summary}")
        splits = ", ".join(f"{split} {size:,}" for split, size in row.splits.items())
        facts = [splits, row.licence, f"from {row.entry.source}"]
        if row.reward_range is not None:
            low, high = row.reward_range
            facts.insert(1, f"rewards {low:g} to {high:g}, at most {row.max_turns} turns")
        if row.latency is not None:
            facts.append(f"step {row.latency.step_ms:.3g} ms, reset {row.latency.reset_ms:.3g} ms")
        typer.echo(f"  {' · '.join(fact for fact in facts if fact)}")
        if row.problem:
            typer.secho(f"  cannot be made: {row.problem}", fg="red")


def _row_values(row: listing.Listed) -> dict[str, Any]:
    values = dataclasses.asdict(row)
    del values["text"]
    return {**values.pop("entry"), **values}


def _facts(entry: EnvEntry, env: gymnasium.Env[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "id": entry.env_id,
        "summary": entry.summary,
        "source": entry.source,
        "entry_point": entry.entry_point,
    }
    base = env.unwrapped
    if not isinstance(base, AgentEnv):
        return {**facts, "observations": str(env.observation_space), "actions": str(env.action_space)}
    card = base.card
    size = card.image_size
    return {
        **facts,
        "system_prompt": card.system_prompt,
        "actions": card.grammar.description,
        "example_action": card.grammar.example,
        "tools": [dict(tool) for tool in card.tools],
        "observations": "text" if size is None else f"text, and an image of {size[1]} x {size[0]} pixels",
        "image_size": None if size is None else list(size),
        "observation_role": card.observation_role,
        "reward_range": list(card.reward_range),
        "max_turns": card.max_turns,
        "splits": dict(card.splits),
        "licence": card.licence,
    }


def _resolve(env_id: str) -> EnvEntry:
    try:
        return resolve(env_id)
    except UnknownEnvError as error:
        _fail(str(error))


@contextmanager
def _made(entry: EnvEntry) -> Generator[gymnasium.Env[str, str]]:
    try:
        env: gymnasium.Env[str, str] = gymnasium.make(entry.env_id)
    except (ImportError, AttributeError, DataError) as error:
        _fail(f"{entry.env_id} of {entry.source} cannot be made from {entry.entry_point}: {error}")
    try:
        yield env
    finally:
        env.close()


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2))


def _fail(message: str) -> NoReturn:
    typer.echo(f"molt-envs: {message}", err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    app()
