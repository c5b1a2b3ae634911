"""One self-contained page of an evaluation: numbers with intervals, and every episode turn by turn.

In: settings, records, summaries. Out: an HTML file that needs no network and no other file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from importlib import resources
from pathlib import Path

from molt_envs.evaluate.record import EpisodeRecord
from molt_envs.evaluate.runner import Settings
from molt_envs.evaluate.summary import EnvSummary

_PARTS = {"/*css*/": "report.css", "/*js*/": "report.js"}


def write_report(
    path: Path, settings: Settings, records: Sequence[EpisodeRecord], summaries: Sequence[EnvSummary]
) -> None:
    """Write the page; it appears under its name only when it is complete."""
    folder = resources.files("molt_envs.evaluate")
    page = (folder / "report.html").read_text(encoding="utf-8")
    for mark, name in _PARTS.items():
        page = page.replace(mark, (folder / name).read_text(encoding="utf-8"))
    data = {
        "settings": asdict(settings),
        "summaries": [asdict(one) | {"num_episodes": one.num_episodes} for one in summaries],
        "records": [asdict(record) | {"reward": record.reward} for record in records],
    }
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    partial.write_text(page.replace("/*data*/", _script_safe(json.dumps(data))), encoding="utf-8")
    partial.replace(path)


def _script_safe(text: str) -> str:
    """JSON in which no text can end the script element or begin a comment in it."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
