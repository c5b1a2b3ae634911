"""Libraries that only some environments need and that the hub does not install.

In: a module's name and the extra that brings it. Out: the module, or one sentence that says what to install.
"""

from __future__ import annotations

import importlib
from typing import Any


def import_extra(module: str, extra: str, needed_by: str) -> Any:
    """Import a module of an optional library.

    Args:
        module: full name of the module.
        extra: the extra of this project that installs it.
        needed_by: the environment, for the message.

    Raises:
        ImportError: it is not installed; the message has the pip command.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{needed_by} needs {error.name}, which is not installed: pip install 'molt-rl[{extra}]'"
        ) from error
