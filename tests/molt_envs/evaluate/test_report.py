"""The page: complete, self-contained, and safe whatever was said."""

from __future__ import annotations

import json
import re
from pathlib import Path

from molt_envs.evaluate.player import Job, play_episode
from molt_envs.evaluate.policy import Limits
from molt_envs.evaluate.report import write_report
from molt_envs.evaluate.runner import Settings
from molt_envs.evaluate.summary import Prices, summarise
from tests.molt_envs.evaluate.toys import Says
from tests.molt_envs.toy import ToyEnv

SETTINGS = Settings("openai:m@http://x", ("toy",), "test", 1, 1, 0, 1.0, 16)
HOSTILE = "</script><img src=x onerror=alert(1)><!-- /*css*/ & \u2028 \ud800"


def page(folder: Path) -> str:
    record = play_episode(ToyEnv(), Says(HOSTILE, "rød"), Job("toy", "train:0", 0, 0), Limits(), "test")
    write_report(folder / "report.html", SETTINGS, [record], summarise([record], Prices()))
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_data_comes_back_and_ends_no_element(tmp_path: Path) -> None:
    text = page(tmp_path)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert data["records"][0]["turns"][0]["message"] == HOSTILE
    assert data["summaries"][0]["passes"]["1"]["value"] == 1.0
    assert text.count("</script>") == 2


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    text = page(tmp_path).replace("http://x", "")
    assert not re.search(r"https?://|url\(|@import|<link|<img|src=\"", text)
    assert not re.search(
        r"/\*(css|js|data)\*/", text.replace("<!-- /*css*/", "").replace("\\u003c!-- /*css*/", "")
    )


def test_nothing_is_written_as_markup() -> None:
    script = (Path(__file__).parents[3] / "molt_envs/evaluate/report.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)
