"""The report page and the picture of the curves."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from molt_train.config import config_to_toml, load_config
from molt_train.monitor.plot import plot_curves
from molt_train.monitor.report import write_report
from molt_train.monitor.run_data import read_run
from molt_train.monitor.writer import MetricsWriter
from tests.molt_train.monitor.example_run import write_example_run

_VOID = {"meta", "line", "polyline"}


class BalancedTags(HTMLParser):
    """Raises when tags are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _VOID, f"<{tag}/> is not closed by its slash in HTML"

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_example_run(tmp_path_factory.mktemp("runs") / "example")


@pytest.fixture(scope="module")
def page(run_dir: Path) -> str:
    return write_report(run_dir).read_text(encoding="utf-8")


def test_the_page_is_well_formed(page: str) -> None:
    parser = BalancedTags()
    parser.feed(page)
    assert parser.open == []


def test_the_page_needs_nothing_else(page: str) -> None:
    assert not re.search(r"<script|<link|<img|https?://|url\(|@import", page)


def test_the_headline_tells_before_and_after(page: str) -> None:
    assert "54.0% → 74.0%" in page and "+20.0 points on 1,000 tasks" in page
    assert "44.0% → 64.0%" in page


def test_there_is_a_curve_for_what_was_recorded_and_none_for_what_was_not(page: str) -> None:
    for name in ("success_rate", "entropy", "sft_loss", "tokens_per_s"):
        assert f'aria-label="{name}"' in page
    assert 'aria-label="clip_share"' not in page


def test_sampled_tokens_carry_their_logprob_and_text_is_escaped(page: str) -> None:
    assert re.search(r'<i class="p\d" title="id \d+, logprob -?\d+\.\d+, policy version 4">', page)
    assert "&lt;b&gt;&amp;" in page and "<b>&\n" not in page
    assert page.count("untrained") > 1


def test_outcomes_add_up(page: str) -> None:
    table = page[page.index("How training episodes ended") :]
    assert re.search(r"truncated</td><td class=\"n\">150</td><td class=\"n\">3.9%", table)


def test_the_report_can_be_made_again(run_dir: Path, page: str) -> None:
    assert write_report(run_dir).read_text(encoding="utf-8") == page


def test_a_control_says_that_it_is_one(tmp_path: Path) -> None:
    run = write_example_run(tmp_path / "control", num_steps=2)
    config = load_config("webshop", ["train.shuffle_rewards=true"])
    (run / "config.toml").write_text(config_to_toml(config), encoding="utf-8")
    assert "control: rewards shuffled" in write_report(run).read_text(encoding="utf-8")


def test_a_run_that_has_only_begun_has_a_report(tmp_path: Path) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write(1, {"loss": float("nan"), "success_rate": 0.0})
    parser = BalancedTags()
    parser.feed(write_report(tmp_path).read_text(encoding="utf-8"))
    assert parser.open == []


def test_only_the_warm_up_has_a_report(tmp_path: Path) -> None:
    with MetricsWriter(tmp_path / "sft") as writer:
        writer.write(1, {"sft_loss": 1.0})
    assert "sft_loss" in write_report(tmp_path).read_text(encoding="utf-8")


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no metrics\.jsonl"):
        write_report(tmp_path)
    with pytest.raises(ValueError, match="no run folder"):
        read_run(tmp_path / "absent")


def test_the_picture_is_a_png(run_dir: Path) -> None:
    assert plot_curves(run_dir).read_bytes().startswith(b"\x89PNG")
