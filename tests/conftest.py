"""Rules for the whole test run: real tests get more time, and with `CI=true` only listed skips are accepted.

In: pytest's items and reports, `tests/allowed_skips.txt`. Out: in CI, an unlisted skip becomes a failure.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.allowed_skips import is_allowed, read_allowed_skips
from tests.shared_data import shared_data_dir

REAL_TIMEOUT_S = 1200
ALLOWED_SKIPS = Path(__file__).parent / "allowed_skips.txt"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give `real` tests that name no time-out of their own a longer one."""
    for item in items:
        if item.get_closest_marker("real") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(REAL_TIMEOUT_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn an unlisted skip of a test into a failure."""
    report = yield
    if report.skipped and "wasxfail" not in vars(report):
        _refuse_unlisted_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn an unlisted skip of a whole module into a failure."""
    report = yield
    if report.skipped:
        _refuse_unlisted_skip(report)
    return report


def _refuse_unlisted_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("CI") != "true" or is_allowed(report.nodeid, read_allowed_skips(ALLOWED_SKIPS)):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid} was skipped ({reason}), and tests/allowed_skips.txt does not list it"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test data (see `tests.shared_data`)."""
    return shared_data_dir()
