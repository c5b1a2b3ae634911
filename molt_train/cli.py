"""The command line `molt-train`.

In: arguments. Out: runs, reports and text. Commands import what they need when they run: `--help` is quick.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from molt_train.cli_errors import report_user_errors

if TYPE_CHECKING:
    from molt_train.config import Config
    from molt_train.loop.parts import OpenParts
    from molt_train.monitor.samples import Decode

_DEBUG = "--debug"


class _Commands(TyperGroup):
    """Takes `--debug` anywhere, and turns user errors into one line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if _DEBUG in args:
            args = [_DEBUG, *(arg for arg in args if arg != _DEBUG)]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> object:
        with report_user_errors(debug=bool(ctx.params.get("debug"))):
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Recipe = Annotated[str, typer.Argument(help="Name from `molt-train recipes`, or a path to a TOML file.")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]...", help="Overrides such as rollout.group_size=16."),
]
Model = Annotated[str | None, typer.Option("--model", help="Shorthand for model.path=…")]
Directory = Annotated[str | None, typer.Option("--dir", help="Shorthand for run.dir=…")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@app.callback()
def main(debug: Annotated[bool, typer.Option(_DEBUG, help="Show tracebacks of errors.")] = False) -> None:
    """Train language-model agents on Molt's environments.

    Begin with [bold]molt-train demo[/bold], or with [bold]molt-train recipes[/bold].
    """


@app.command()
def run(
    recipe: Recipe,
    overrides: Overrides = None,
    model: Model = None,
    directory: Directory = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the newest intact checkpoint.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Train by reinforcement learning.

    Example: molt-train run webshop optimizer.lr=1e-4 --dir runs/mine
    """
    config = _load(recipe, overrides, model, directory, ["run.resume=true"] if resume else [])
    from molt_train.loop.run import train
    from molt_train.monitor.progress import make_progress

    with make_progress(Console(), quiet) as progress:
        folder = train(config, progress, _open_parts(config))
    _say_where(folder)


@app.command()
def sft(
    recipe: Recipe,
    overrides: Overrides = None,
    model: Model = None,
    directory: Directory = None,
    quiet: Quiet = False,
) -> None:
    """Warm a model up on an oracle's episodes (section `sft`).

    Example: molt-train sft webshop sft.num_steps=200
    """
    config = _load(recipe, overrides, model, directory)
    from molt_train.loop.sft import train_sft
    from molt_train.monitor.progress import make_progress

    with make_progress(Console(), quiet) as progress:
        folder = train_sft(config, progress)
    _say_where(folder)


@app.command("eval")
def evaluate(
    recipe: Recipe,
    overrides: Overrides = None,
    model: Model = None,
    directory: Directory = None,
    quiet: Quiet = False,
) -> None:
    """Judge a model on held-out tasks (section `eval`), without training.

    Example: molt-train eval webshop --model runs/webshop/model eval.num_tasks=1000
    """
    config = _load(recipe, overrides, model, directory)
    from molt_train.loop.run import evaluate_policy
    from molt_train.monitor.progress import make_progress

    with make_progress(Console(), quiet) as progress:
        folder = evaluate_policy(config, progress, _open_parts(config))
    _say_where(folder)


@app.command()
def demo(
    overrides: Overrides = None,
    recipe: Annotated[str, typer.Option("--recipe", help="Recipe to follow.")] = "webshop",
    model: Model = None,
    directory: Directory = None,
    quiet: Quiet = False,
) -> None:
    """Take a small model, warm it up, train it, compare before and after.

    With --model that model is trained as it is. Without --dir a second demo gets a folder of its own.

    Example: molt-train demo --recipe webshop-smollm2 --model SmolLM2-135M-Instruct
    """
    config = _load(recipe, overrides, model, directory)
    from molt_train.demo import free_folder, run_demo
    from molt_train.monitor.progress import make_progress

    if directory is None and not any(override.startswith("run.dir=") for override in overrides or ()):
        config = _load(recipe, overrides, model, free_folder(config.run.dir))
    with make_progress(Console(), quiet) as progress:
        folder = run_demo(config, warm_up=model is None, progress=progress)
    _say_where(folder)


@app.command("new-model")
def new_model(
    out: Annotated[Path, typer.Argument(help="Folder to make; it must not exist.")],
    env: Annotated[
        list[str] | None,
        typer.Option("--env", help="Environment whose text the tokenizer learns; repeatable."),
    ] = None,
    vocab_size: Annotated[int | None, typer.Option(help="Most tokens of the vocabulary.")] = None,
    hidden_size: Annotated[int | None, typer.Option(help="Width of the model.")] = None,
    num_layers: Annotated[int | None, typer.Option(help="Depth of the model.")] = None,
    architecture: Annotated[
        str, typer.Option(help="qwen3 (dense), qwen3_moe, or deepseek_v3 (latent attention, experts).")
    ] = "qwen3",
    seed: Annotated[int, typer.Option(help="Seeds weights and texts.")] = 0,
) -> None:
    """Make a small model with random weights and a tokenizer that knows the environments' words.

    Example: molt-train new-model runs/webshop/start --env molt/WebShop-v0
    """
    from molt_train.model.new_model import NewModelSpec, new_model

    spec = NewModelSpec(env_ids=tuple(env or ["molt/WebShop-v0"]), seed=seed)
    spec = replace(spec, architecture=architecture)
    sizes = {"vocab_size": vocab_size, "hidden_size": hidden_size, "num_layers": num_layers}
    spec = replace(spec, **{name: size for name, size in sizes.items() if size is not None})
    typer.echo(f"model: {new_model(spec, out)}")


@app.command()
def config(
    recipe: Recipe,
    overrides: Overrides = None,
    model: Model = None,
    directory: Directory = None,
    plain: Annotated[bool, typer.Option("--plain", help="Leave the comments out.")] = False,
) -> None:
    """Print a recipe as it would run: every key, its meaning and range.

    Example: molt-train config webshop > mine.toml
    """
    from molt_train.config import config_to_toml

    typer.echo(config_to_toml(_load(recipe, overrides, model, directory), comments=not plain))


@app.command()
def recipes() -> None:
    """List the recipes in the package."""
    from molt_train.config import load_config, recipe_names

    table = Table("recipe", "model", "environment", "run folder")
    for name in recipe_names():
        loaded = load_config(name)
        table.add_row(name, loaded.model.path, loaded.env.id, loaded.run.dir)
    Console().print(table)


@app.command()
def inspect(
    path: Annotated[
        Path, typer.Argument(help="A run's folder, or a file of episodes.", metavar="RUN_OR_EPISODES")
    ],
    index: Annotated[
        int | None, typer.Argument(help="Which episode, from 0; without it they are listed.")
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="One row per token, with every number.")] = False,
    model: Annotated[
        str | None, typer.Option("--model", help="Whose tokenizer decodes bare episodes.")
    ] = None,
) -> None:
    """Show an episode token by token: what was shown, what was sampled, how likely, by which weights."""
    from molt_train.monitor.inspector import load_samples, print_samples

    decode = None if model is None else _decoder(model)
    print_samples(Console(), load_samples(path, decode), index, table)


@app.command()
def report(
    run_dir: Annotated[Path, typer.Argument(help="A run's folder.", metavar="RUN")],
    png: Annotated[bool, typer.Option("--png", help="Draw curves.png as well (needs matplotlib).")] = False,
) -> None:
    """Make a run's report.html again."""
    from molt_train.monitor.report import write_report

    typer.echo(f"report: {write_report(run_dir)}")
    if png:
        from molt_train.monitor.plot import plot_curves

        typer.echo(f"curves: {plot_curves(run_dir)}")


def _load(
    recipe: str,
    overrides: Sequence[str] | None,
    model: str | None,
    directory: str | None,
    more: Sequence[str] = (),
) -> Config:
    """The configuration with the shorthands applied after the overrides."""
    from molt_train.config import load_config

    shorthands = [("model.path", model), ("run.dir", directory)]
    given = [
        f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in shorthands if value is not None
    ]
    return load_config(recipe, [*(overrides or ()), *given, *more])


def _open_parts(config: Config) -> OpenParts:
    """All in this process, or as Ray actors where section `cluster` says so."""
    if config.cluster.enabled:
        from molt_train.cluster.run import cluster_parts

        return cluster_parts
    from molt_train.loop.parts import local_parts

    return local_parts


def _decoder(model: str) -> Decode:
    """Turns ids into text with the model's tokenizer, control tokens included."""
    from molt_train.model.load import load_tokenizer

    tokenizer = load_tokenizer(model)
    return lambda token_ids: str(tokenizer.decode(list(token_ids), skip_special_tokens=False))


def _say_where(folder: Path) -> None:
    Console().print(f"results in [bold]{escape(str(folder))}[/bold]", highlight=False)


if __name__ == "__main__":
    app()
