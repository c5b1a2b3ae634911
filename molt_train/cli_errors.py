"""Errors that a person can mend, in one line.

In: exceptions of a command. Out: a line on stderr and the exit status 2; all other exceptions pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

_EXTRAS = {
    **dict.fromkeys(("torch", "transformers", "tokenizers", "safetensors", "jinja2"), "train"),
    "ray": "ray",
    "vllm": "vllm",
}
"""Packages that a command may miss, and the extra that brings them."""


@contextmanager
def report_user_errors(debug: bool) -> Iterator[None]:
    """Turn `ValueError`s, missing files and packages into a line; with `debug` they pass with a traceback."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = _EXTRAS.get(package)
        if debug or extra is None:
            raise
        _fail(f"this command needs the package {package}: pip install 'molt-rl[{extra}]'")
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
