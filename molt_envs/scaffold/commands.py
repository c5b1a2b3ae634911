"""The command `molt-envs new`.

In: a name and a kind. Out: a folder, and what to do with it next.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from molt_envs.scaffold.write import env_id_of, write_package


def new(
    name: Annotated[str, typer.Argument(help="name of the package, such as my_env")],
    kind: Annotated[str, typer.Option(help="text, tool, sandboxed, vision or multi-agent")] = "text",
    folder: Annotated[Path, typer.Option("--dir", help="where its folder is made")] = Path(),
) -> None:
    """Write the package of a new environment that passes `check` as it is; change it from there."""
    try:
        target = write_package(name, kind, folder)
    except (OSError, ValueError) as error:
        typer.echo(f"molt-envs: {error}", err=True)
        raise typer.Exit(2) from error
    typer.echo(
        f"{target} is an environment of the kind {kind}. Next:\n"
        f"  pip install -e '{target}[dev]'\n"
        f"  molt-envs check {env_id_of(name)}\n"
        f"  molt-envs play {env_id_of(name)}\n"
        f"then change {name}/tasks.py and {name}/env.py in it; README.md says what to keep."
    )
