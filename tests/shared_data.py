"""Where tests find real data that does not ship with the project.

Out: the folder named by `MOLT_TEST_DATA`, or `../shared/data` beside the checkout; the asking test is
skipped, with the reason, where neither exists.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent


def find_shared_data() -> Path | None:
    """The folder of real test data, or None where this machine has none."""
    named = os.environ.get("MOLT_TEST_DATA")
    folder = Path(named) if named else CHECKOUT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def shared_data_dir() -> Path:
    """The folder of real test data; skips the calling test where this machine has none."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip("no real test data: set MOLT_TEST_DATA to the folder that holds it")
    return folder
