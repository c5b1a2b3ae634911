"""Errors that a person can mend, in one line.

In: exceptions of a command. Out: a line on stderr and the exit status 2; all other exceptions pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

_TRAIN_PACKAGES = {"torch", "transformers", "tokenizers", "safetensors", "jinja2"}


@contextmanager
def report_user_errors(debug: bool) -> Iterator[None]:
    """Turn `ValueError`s, missing files and packages into a line; with `debug` they pass with a traceback."""
    try:
        yield
    except ModuleNotFoundError as error:
        if debug or error.name not in _TRAIN_PACKAGES:
            raise
        _fail(f"this command needs the package {error.name}: pip install 'molt-rl[train]'")
    except (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError) as error:
        if debug:
            raise
        _fail(f"{error.strerror}: {error.filename}" if error.filename else str(error))
    except ValueError as error:
        if debug:
            raise
        _fail(str(error) or repr(error))


def _fail(message: str) -> None:
    console = Console(stderr=True, soft_wrap=True)
    console.print("[bold red]error:[/bold red] ", end="")
    console.print(message, markup=False, highlight=False)
    raise typer.Exit(2)
