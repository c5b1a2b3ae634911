"""The plug-in, as a third party uses it: in a pytest of its own."""

from __future__ import annotations

import pytest

from molt_envs.checks.environment import CHECKS

pytest_plugins = ["pytester"]

PLUGIN = ("-p", "molt_envs.pytest_plugin", "-p", "no:cacheprovider")
REGISTERS = """
import gymnasium

gymnasium.register("theirs/Vault-v0", entry_point="tests.molt_envs.checks.broken.vault:VaultEnv")
gymnasium.register("theirs/Told-v0", entry_point="tests.molt_envs.checks.broken.envs:Told")
"""


@pytest.fixture
def theirs(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a package of environments and no tests."""
    pytester.makepyfile(their_envs=REGISTERS)
    pytester.syspathinsert()
    return pytester


def test_an_id_on_the_command_line_adds_a_test_for_each_check(theirs: pytest.Pytester) -> None:
    result = theirs.runpytest_inprocess(*PLUGIN, "--molt-env", "their_envs:theirs/Vault-v0")
    result.assert_outcomes(passed=len(CHECKS))
    assert result.ret == 0


def test_a_fault_fails_the_test_of_its_check_with_what_to_mend(theirs: pytest.Pytester) -> None:
    result = theirs.runpytest_inprocess(*PLUGIN, "--molt-env", "their_envs:theirs/Told-v0", "-k", "secrets")
    result.assert_outcomes(failed=1, passed=4, deselected=len(CHECKS) - 5)
    result.stdout.fnmatch_lines(["*the observation says*", "to mend: take the answer out of the task's text"])


def test_an_unknown_id_is_a_usage_error(theirs: pytest.Pytester) -> None:
    result = theirs.runpytest_inprocess(*PLUGIN, "--molt-env", "theirs/Nowhere-v0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--molt-env theirs/Nowhere-v0: *"])


def test_the_fixture_checks_from_a_test(theirs: pytest.Pytester) -> None:
    theirs.makepyfile(
        test_theirs="""
        from tests.molt_envs.checks.broken.envs import Told
        from tests.molt_envs.checks.broken.vault import VaultEnv

        def test_sound(check_molt_env):
            check_molt_env(VaultEnv, groups=["secrets"])

        def test_told(check_molt_env):
            check_molt_env(Told, groups=["secrets"])
        """
    )
    result = theirs.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(passed=1, failed=1)


def test_without_its_option_the_plugin_adds_nothing(theirs: pytest.Pytester) -> None:
    assert theirs.runpytest_inprocess(*PLUGIN).ret == pytest.ExitCode.NO_TESTS_COLLECTED
