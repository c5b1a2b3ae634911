"""A pytest plug-in: `pytest --molt-env my/Maze-v0` adds one test for each check of an environment.

In: ids, `module:id` where a module registers the id, on the command line. Out: tests, and the fixture
`check_molt_env` for a suite that calls the checker itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium
import gymnasium.error
import pytest

if TYPE_CHECKING:
    from molt_envs.checks import Finding

OPTION = "--molt-env"
FULL_OPTION = "--molt-full"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("molt", "environments for language-model agents")
    group.addoption(
        OPTION, action="append", default=[], metavar="ID", help="check this environment; may be repeated"
    )
    group.addoption(FULL_OPTION, action="store_true", help="check thoroughly: minutes for each environment")


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the tests, after those that were found in files.

    Raises:
        pytest.UsageError: an id that does not exist, or a module that cannot be imported.
    """
    env_ids: list[str] = config.getoption(OPTION) or []
    if not env_ids:
        return
    from molt_envs.checks.environment import CHECKS, run_check
    from molt_envs.checks.subject import Subject

    level = "full" if config.getoption(FULL_OPTION) else "quick"
    for env_id in env_ids:
        subject = Subject(_registered(env_id), level)
        for check in CHECKS:
            name = f"{env_id}::{check.group}: {check.name}"
            run = partial(run_check, check, subject)
            items.append(CheckItem.from_parent(session, name=name, run=run))  # pyright: ignore[reportUnknownMemberType]


@pytest.fixture
def check_molt_env() -> Callable[..., None]:
    """A function with `check_env`'s arguments that fails the test with what to mend."""
    from molt_envs.checks import check_env

    return lambda *args, **kwargs: check_env(*args, **kwargs).assert_ok()


class CheckItem(pytest.Item):
    """One check of one environment as a test.

    Args:
        run: makes the check and adds its finding.
    """

    def __init__(self, *, run: Callable[[], Finding], **kwargs: Any) -> None:
        super().__init__(**kwargs)  # pyright: ignore[reportUnknownMemberType]
        self._run = run

    def runtest(self) -> None:
        """Run the check; one that cannot be made is skipped."""
        finding = self._run()
        if not finding.ok:
            raise AssertionError(f"{finding.message}\nto mend: {finding.mend}")
        if not finding.shown:
            pytest.skip(finding.message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """What was seen and what to mend; a traceback through the checker would tell nothing."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[str, int | None, str]:
        """The environment takes the place of a file."""
        return self.name.partition("::")[0], None, self.name


def _registered(name: str) -> str:
    """The id, its module imported where one is named."""
    module, _, env_id = name.rpartition(":")
    try:
        if module:
            importlib.import_module(module)
        gymnasium.spec(env_id)
    except (ImportError, gymnasium.error.Error) as error:
        raise pytest.UsageError(f"{OPTION} {name}: {error}") from error
    return env_id
