"""The reference of keys: complete, described, and equal to what docs/configuration.md says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pydantic import BaseModel

from molt_train.config import Config
from molt_train.config.reference import reference_markdown

DOCS = Path(__file__).resolve().parents[3] / "docs" / "configuration.md"


def test_every_section_and_key_has_a_description() -> None:
    for name, section in Config.model_fields.items():
        assert section.description, name
        model = section.annotation
        assert isinstance(model, type) and issubclass(model, BaseModel)
        assert [key for key, field in model.model_fields.items() if not field.description] == []


def test_the_documentation_holds_the_current_tables() -> None:
    assert reference_markdown() in DOCS.read_text(encoding="utf-8"), (
        "docs/configuration.md is out of date; its tables are the output of `python -m molt_train.config`"
    )


def test_the_command_prints_the_tables() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "molt_train.config"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert done.stdout == reference_markdown()
